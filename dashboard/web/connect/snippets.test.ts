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

/** Runs snippets of one language as a user would, and returns their output. */
async function printed(...all: readonly Snippet[]): Promise<string> {
  seen = [];
  const codes = all.map(({ code }) => code);
  // One process for those of Python: importing the library takes a second.
  const programs = all[0]?.label === 'Python' ? [codes.join('\n')] : codes;
  let output = '';
  for (const code of programs) {
    const commands = {
      curl: ['sh', '-c', code],
      Python: [code.includes('openai') ? PYTHON : 'python3', '-c', code],
      TypeScript: [process.execPath, '--input-type=module-typescript', '-e', code],
    } as const;
    const [command, ...args] = commands[all[0]?.label ?? 'curl'];
    output += (await run(command, args, { cwd: import.meta.dirname, timeout: DEADLINE_MS })).stdout;
  }
  return output;
}

function missing(language: Snippet['label']): boolean {
  const [command = '', ...args] = {
    curl: ['curl', '--version'],
    // Does not import the package, which would take a second.
    Python: [PYTHON, '-c', 'import importlib.util as u; exit(u.find_spec("openai") is None)'],
    TypeScript: [process.execPath, '--version'],
  }[language];
  return spawnSync(command, args).status !== 0;
}

const snippet = (language: Snippet['label'], facts: Partial<Parameters<typeof snippets>[0]>): Snippet => {
  const found = snippets({ apiUrl, secret: SECRET, scopes: ['chat'], model: MODEL, ...facts }).find(
    (one) => one.label === language,
  );
  if (!found) throw new Error(`there is no snippet for ${language}`);
  return found;
};

describe.each(['curl', 'Python', 'TypeScript'] as const)('in %s', (language) => {
  const isMissing = missing(language);

  it.skipIf(isMissing)(
    'a key is tried with a completion, a conversation as it is, and embeddings of a model that makes them',
    { timeout: DEADLINE_MS },
    async () => {
      const messages = [
        { role: 'system', content: MODEL },
        { role: 'user', content: 'two\nlines, 😀 \u2028 </script>' },
      ] as const;
      const tools = [{ type: 'function', function: { name: 'f', strict: true, parameters: {} } }];
      const chat = { messages, max_tokens: 100, temperature: 0.5, tools };
      const output = await printed(
        snippet(language, { scopes: ['chat', 'usage:read'] }),
        snippet(language, { chat }),
        snippet(language, { embeds: true }),
      );
      expect(output).toMatch(/Hello there\.(?:.|\n)*(?:0\.5|AAAAPw==)/);
      const sent = { url: '/v1/chat/completions', authorization: `Bearer ${SECRET}` };
      expect(seen.slice(0, 2)).toEqual([
        { ...sent, body: { model: MODEL, messages: [{ role: 'user', content: 'Say hello.' }] } },
        { ...sent, body: { model: MODEL, ...chat } },
      ]);
      expect(seen.slice(2)).toMatchObject([{ url: '/v1/embeddings', body: { model: MODEL, input: 'Say hello.' } }]);
    },
  );

  it.skipIf(isMissing)('a key that only reads is tried with the balance', { timeout: DEADLINE_MS }, async () => {
    expect(await printed(snippet(language, { scopes: ['usage:read'] }))).toContain('12.5');
    expect(seen).toEqual([{ url: '/v1/credits', authorization: `Bearer ${SECRET}`, body: undefined }]);
  });
});

it('leaves a placeholder if no model is known', () => {
  for (const { code } of snippets({ apiUrl: 'http://a/v1', secret: SECRET, scopes: ['chat'] }))
    expect(code).toContain('"MODEL"');
});
