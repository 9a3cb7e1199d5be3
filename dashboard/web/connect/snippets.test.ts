import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PYTHON } from '#test/sdk/python-sdk.ts';
import { type Snippet, snippets } from './snippets.ts';

const run = promisify(execFile);
const DEADLINE_MS = 60_000;
/** Contains the special characters of a shell and of the languages. */
const MODEL = `a'b"c$HOME\\\`d`;
/** 0.5 in base64, the encoding that the libraries request. */
const HALF = 'AAAAPw==';
const SECRET = 'sk-gw-0123456789';

interface Seen {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

let server: Server;
let apiUrl: string;
let seen: Seen[] = [];

beforeAll(async () => {
  server = createServer(async (request: IncomingMessage, response) => {
    const body = await text(request);
    seen.push({
      url: request.url,
      authorization: request.headers.authorization,
      body: body === '' ? undefined : JSON.parse(body),
    });
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        request.url === '/v1/credits'
          ? { data: { balance: 12.5 } }
          : request.url === '/v1/embeddings'
            ? { object: 'list', data: [{ object: 'embedding', index: 0, embedding: HALF }] }
            : {
                id: 'gen-1',
                object: 'chat.completion',
                choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' } }],
              },
      ),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

/** Runs a snippet as a user would, and returns its output. */
async function printed({ label, code }: Snippet): Promise<string> {
  const commands = {
    curl: ['sh', '-c', code],
    Python: [code.includes('openai') ? PYTHON : 'python3', '-c', code],
    TypeScript: [process.execPath, '--input-type=module-typescript', '-e', code],
  } as const;
  const [command, ...args] = commands[label];
  seen = [];
  const { stdout } = await run(command, args, { cwd: import.meta.dirname, timeout: DEADLINE_MS });
  return stdout;
}

function missing(language: Snippet['label'], needsOpenai: boolean): boolean {
  // Does not import the package, which would take a second.
  const python = needsOpenai
    ? [PYTHON, '-c', 'import importlib.util as u; exit(u.find_spec("openai") is None)']
    : ['python3', '--version'];
  const [command = '', ...args] = {
    curl: ['curl', '--version'],
    Python: python,
    TypeScript: [process.execPath, '--version'],
  }[language];
  return spawnSync(command, args).status !== 0;
}

const snippet = (language: Snippet['label'], facts: Parameters<typeof snippets>[0]): Snippet => {
  const found = snippets(facts).find((one) => one.label === language);
  if (!found) throw new Error(`there is no snippet for ${language}`);
  return found;
};

describe.each(['curl', 'Python', 'TypeScript'] as const)('in %s', (language) => {
  it.skipIf(missing(language, true))(
    'a key for chat is tried with a completion',
    { timeout: DEADLINE_MS },
    async () => {
      const output = await printed(
        snippet(language, { apiUrl, secret: SECRET, scopes: ['chat', 'usage:read'], model: MODEL }),
      );
      expect(output).toContain('Hello there.');
      expect(seen).toEqual([
        {
          url: '/v1/chat/completions',
          authorization: `Bearer ${SECRET}`,
          body: { model: MODEL, messages: [{ role: 'user', content: 'Say hello.' }] },
        },
      ]);
    },
  );

  it.skipIf(missing(language, true))(
    'a conversation is sent as it is, with its limits and tools',
    { timeout: DEADLINE_MS },
    async () => {
      const messages = [
        { role: 'system', content: MODEL },
        { role: 'user', content: 'two\nlines, 😀 \u2028 </script>' },
      ] as const;
      const tools = [{ type: 'function', function: { name: 'f', strict: true, parameters: {} } }];
      const chat = { messages, max_tokens: 100, temperature: 0.5, tools };
      await printed(snippet(language, { apiUrl, secret: SECRET, scopes: ['chat'], model: MODEL, chat }));
      expect(seen.map(({ body }) => body)).toEqual([{ model: MODEL, ...chat }]);
    },
  );

  it.skipIf(missing(language, true))(
    'an embedding model gets a request for embeddings',
    { timeout: DEADLINE_MS },
    async () => {
      const facts = { apiUrl, secret: SECRET, scopes: ['chat'], model: MODEL, embeds: true } as const;
      expect(await printed(snippet(language, facts))).toMatch(/0\.5|AAAAPw==/);
      expect(seen).toMatchObject([{ url: '/v1/embeddings', body: { model: MODEL, input: 'Say hello.' } }]);
    },
  );

  it.skipIf(missing(language, false))(
    'a key that only reads is tried with the balance',
    { timeout: DEADLINE_MS },
    async () => {
      const output = await printed(snippet(language, { apiUrl, secret: SECRET, scopes: ['usage:read'] }));
      expect(output).toContain('12.5');
      expect(seen).toEqual([{ url: '/v1/credits', authorization: `Bearer ${SECRET}`, body: undefined }]);
    },
  );
});

it('leaves a placeholder if no model is known', () => {
  for (const { code } of snippets({ apiUrl: 'http://a/v1', secret: SECRET, scopes: ['chat'] }))
    expect(code).toContain('"MODEL"');
});
