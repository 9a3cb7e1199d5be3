import type { ScopeName } from '#contract/keys.ts';
import type { PlayChat } from '#contract/playground.ts';
import { shellText } from '#core/shell-text.ts';

/** Values for the examples. Those of a new key are shown only once, together with it. */
export interface SnippetFacts {
  /** Ends in `/v1`. */
  readonly apiUrl: string;
  readonly secret: string;
  readonly scopes: readonly ScopeName[];
  /** A model that the key may use. Absent if none is known. */
  readonly model?: string;
  /** Default: a greeting. */
  readonly chat?: ChatExample;
  /** True if the model makes embeddings and cannot chat. */
  readonly embeds?: boolean;
}

export type ChatExample = Omit<PlayChat, 'model' | 'max_tokens'> & { readonly max_tokens?: number };

export interface Snippet {
  readonly label: 'curl' | 'Python' | 'TypeScript';
  readonly code: string;
}

/** Stands for the secret if there is none to show. */
export const KEY_TO_FILL_IN = 'YOUR_API_KEY';
export const MODEL_TO_FILL_IN = 'MODEL';
const GREETING: ChatExample = { messages: [{ role: 'user', content: 'Say hello.' }] };

/** A key without the scope `chat` has `usage:read`, so its examples read the balance. */
export function snippets(facts: SnippetFacts): readonly Snippet[] {
  return facts.scopes.includes('chat') ? requestSnippets(facts) : creditSnippets(facts);
}

const RESULTS = { chat: 'choices[0]?.message.content', embeddings: 'data[0]?.embedding' } as const;

function requestSnippets({ apiUrl, secret, ...facts }: SnippetFacts): readonly Snippet[] {
  const { model = MODEL_TO_FILL_IN, chat = GREETING, embeds = false } = facts;
  const path = embeds ? 'embeddings' : 'chat/completions';
  const call = path.replace('/', '.');
  const result = RESULTS[embeds ? 'embeddings' : 'chat'];
  const body = { model, ...(embeds ? { input: 'Say hello.' } : chat) };
  const lines = (write: (name: string, value: unknown) => string) =>
    Object.entries(body)
      .map(([name, value]) => `${write(name, value)},\n`)
      .join('');
  const written = (name: string, value: unknown, indent: string, write: (value: unknown) => string) =>
    name === 'messages' ? listOf(chat.messages, indent, write) : write(value);
  return [
    {
      label: 'curl',
      code: `curl ${shellText(`${apiUrl}/${path}`)} \\
  -H ${shellText(`Authorization: Bearer ${secret}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shellText(JSON.stringify(body))}`,
    },
    {
      label: 'Python',
      code: `# pip install openai
from openai import OpenAI

client = OpenAI(
    base_url=${quoted(apiUrl)},
    api_key=${quoted(secret)},
)
response = client.${call}.create(
${lines((name, value) => `    ${name}=${written(name, value, '    ', python)}`)})
print(response.${result.replace('?', '')})`,
    },
    {
      label: 'TypeScript',
      code: `// npm install openai
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${quoted(apiUrl)},
  apiKey: ${quoted(secret)},
});
const response = await client.${call}.create({
${lines((name, value) => `  ${name}: ${written(name, value, '  ', JSON.stringify)}`)}});
console.log(response.${result});`,
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

/** One item on the line of the list. Several items on lines of their own. */
function listOf<Item>(items: readonly Item[], indent: string, write: (item: Item) => string): string {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return `[${write(only)}]`;
  return `[\n${items.map((item) => `${indent}${indent}${write(item)},\n`).join('')}${indent}]`;
}

/** JSON with Python's spelling of three literals. */
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
