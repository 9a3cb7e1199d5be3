import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { CheckedConfig } from '#core/config/gateway-config.ts';
import { configFolder } from '#core/config/load.fixture.ts';
import { findOllama } from './local-models.ts';
import { readSettings } from './read-settings.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A server that answers every request with `text`. Resolves to its port. */
async function serve(text: string, status = 200): Promise<number> {
  server = createServer((_request, response) => response.writeHead(status).end(text));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const folder = configFolder();

async function configured(baseUrl: string, demo = true): Promise<CheckedConfig> {
  return (await folder.loaded(`demo: ${demo}\nproviders: {ollama: {base_url: "${baseUrl}"}}\n`)).config;
}

const MODELS = JSON.stringify({ object: 'list', data: [{ id: 'qwen3:8b', object: 'model' }, { id: 'other' }] });

test('an Ollama that responds yields its usual key and its first model', async () => {
  const config = await configured(`http://127.0.0.1:${await serve(MODELS)}/v1`);
  expect(await findOllama(config, {})).toEqual({ OLLAMA_API_KEY: 'ollama', OLLAMA_MODEL: 'qwen3:8b' });
  expect(await findOllama(config, { OLLAMA_MODEL: 'mine' })).toEqual({
    OLLAMA_API_KEY: 'ollama',
    OLLAMA_MODEL: 'mine',
  });
  expect(await findOllama(config, { OLLAMA_API_KEY: 'given' })).toBeUndefined();
});

test.each([
  ['no model', JSON.stringify({ data: [] }), 200],
  ['a name that is no name', JSON.stringify({ data: [{ id: 'a\nb' }] }), 200],
  ['a number', JSON.stringify({ data: [{ id: 7 }] }), 200],
  ['no JSON', '<html>', 200],
  ['a list', '[]', 200],
  ['an error', MODELS, 500],
  ['more than a megabyte', `${MODELS}${' '.repeat(1024 * 1024)}`, 200],
])('%s turns nothing on', async (_what, text, status) => {
  const config = await configured(`http://127.0.0.1:${await serve(text, status)}/v1`);
  expect(await findOllama(config, {})).toBeUndefined();
});

test('its first model is the one that a target of the configuration names', async () => {
  const port = await serve(MODELS);
  const text = `demo: true
providers: {ollama: {base_url: "http://127.0.0.1:${port}/v1", api_key: "\${OLLAMA_API_KEY}"}}
models:
  local:
    context_window: 8000
    max_output_tokens: 1000
    usd_per_million_tokens: {input: 1, output: 1}
    targets: [{provider: ollama, model: "\${OLLAMA_MODEL:-other}"}]
`;
  await folder.load(text);
  const read = await readSettings({ GATEWAY_CONFIG: join(folder.path, 'gateway.yaml'), PATH: process.env.PATH });
  if (typeof read === 'string') throw new Error(read);
  expect(read.config.models.get('local')).toMatchObject({ targets: [{ model: 'qwen3:8b' }] });
  expect(read.settings.env).toMatchObject({ OLLAMA_API_KEY: 'ollama', OLLAMA_MODEL: 'qwen3:8b' });
});

test('queries nothing on other machines or without demo, and finds nothing if nobody listens', async () => {
  const port = await serve(MODELS);
  expect(await findOllama(await configured('http://models.example.com/v1'), {})).toBeUndefined();
  expect(await findOllama(await configured(`http://127.0.0.1:${port}/v1`, false), {})).toBeUndefined();
  server?.close();
  server?.closeAllConnections();
  expect(await findOllama(await configured(`http://127.0.0.1:${port}/v1`), {})).toBeUndefined();
});
