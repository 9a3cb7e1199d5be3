import type { ScopeName } from '#contract/keys.ts';
import type { PlayChat } from '#contract/playground.ts';

/** Values of the examples for a new key, which are shown once together with it. */
export interface SnippetFacts {
  /** Ends in `/v1`. */
  readonly apiUrl: string;
  readonly secret: string;
  readonly scopes: readonly ScopeName[];
  /** A model that the key may use. Absent if none is known. */
  readonly model?: string;
  /** Default: a greeting. */
  readonly chat?: ChatExample;
}

/** A request as an example shows it. */
export type ChatExample = Omit<PlayChat, 'model' | 'max_tokens'> & { readonly max_tokens?: number };

export interface Snippet {
  readonly label: 'curl' | 'Python' | 'TypeScript';
  readonly code: string;
}

/** In place of the secret, where there is none to show. */
export const KEY_TO_FILL_IN = 'YOUR_API_KEY';
const MODEL_TO_FILL_IN = 'MODEL';
const GREETING: ChatExample = { messages: [{ role: 'user', content: 'Say hello.' }] };

/**
 * Examples with the balance for keys without the scope `chat`, because every other key may read it.
 */
export function snippets(facts: SnippetFacts): readonly Snippet[] {
  return facts.scopes.includes('chat') ? chatSnippets(facts) : creditSnippets(facts);
}

function chatSnippets({ apiUrl, secret, model = MODEL_TO_FILL_IN, chat = GREETING }: SnippetFacts): readonly Snippet[] {
  const { messages, ...others } = chat;
  const body = JSON.stringify({ model, messages, ...others });
  return [
    {
      label: 'curl',
      code: `curl ${shellText(`${apiUrl}/chat/completions`)} \\
  -H ${shellText(`Authorization: Bearer ${secret}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shellText(body)}`,
    },
    {
      label: 'Python',
      code: `# pip install openai
from openai import OpenAI

client = OpenAI(
    base_url=${quoted(apiUrl)},
    api_key=${quoted(secret)},
)
completion = client.chat.completions.create(
    model=${quoted(model)},
    messages=${listOf(messages, '    ', python)},
${Object.entries(others)
  .map(([name, value]) => `    ${name}=${python(value)},\n`)
  .join('')})
print(completion.choices[0].message.content)`,
    },
    {
      label: 'TypeScript',
      code: `// npm install openai
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${quoted(apiUrl)},
  apiKey: ${quoted(secret)},
});
const completion = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: ${listOf(messages, '  ', JSON.stringify)},
${Object.entries(others)
  .map(([name, value]) => `  ${name}: ${JSON.stringify(value)},\n`)
  .join('')}});
console.log(completion.choices[0]?.message.content);`,
    },
  ];
}

function creditSnippets({ apiUrl, secret }: SnippetFacts): readonly Snippet[] {
  const url = `${apiUrl}/credits`;
  const header = `Bearer ${secret}`;
  return [
    { label: 'curl', code: `curl ${shellText(url)} \\\n  -H ${shellText(`Authorization: ${header}`)}` },
    {
      label: 'Python',
      code: `import json
from urllib.request import Request, urlopen

request = Request(
    ${quoted(url)},
    headers={"Authorization": ${quoted(header)}},
)
with urlopen(request) as response:
    print(json.load(response)["data"])`,
    },
    {
      label: 'TypeScript',
      code: `const response = await fetch(${quoted(url)}, {
  headers: { authorization: ${quoted(header)} },
});
const { data } = await response.json();
console.log(data);`,
    },
  ];
}

/** One message on the line of the list, several on lines of their own. */
function listOf<Item>(items: readonly Item[], indent: string, write: (item: Item) => string): string {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return `[${write(only)}]`;
  return `[\n${items.map((item) => `${indent}${indent}${write(item)},\n`).join('')}${indent}]`;
}

/** Quotes any text for a POSIX shell. */
function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** JSON with the three words that Python writes otherwise. */
function python(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  return `{${Object.entries(value)
    .map(([name, one]) => `${quoted(name)}: ${python(one)}`)
    .join(', ')}}`;
}

/** JSON strings are valid in Python and TypeScript. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
