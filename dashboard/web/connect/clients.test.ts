import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { clientsIn, environment } from './clients.ts';

const clients = clientsIn(readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8'));
const byName = new Map(clients.map((client) => [client.name, client]));

it('every client in the document has a snippet that reads its settings from the environment', () => {
  expect(clients.filter(({ group }) => group === 'Libraries').length).toBeGreaterThan(20);
  expect(clients.filter(({ group }) => group === 'Agents').map(({ name }) => name)).toEqual(
    expect.arrayContaining(['Claude Code', 'Codex', 'Open WebUI', 'opencode']),
  );
  for (const { name, code, language } of clients) {
    for (const setting of ['GATEWAY_URL', 'GATEWAY_KEY']) expect(code, name).toContain(setting);
    expect(['js', 'python', 'sh'], name).toContain(language);
  }
  expect(byName.get('LlamaIndex (TypeScript)')?.code).toMatch(/^import \{ openai \}[^`]*\}\);$/);
});

it('a client names the API that it needs', () => {
  const needs = Object.fromEntries(clients.flatMap(({ name, needs }) => (needs === undefined ? [] : [[name, needs]])));
  expect(needs).toEqual({ 'Claude Code': 'messages', Codex: 'responses', mem0: 'embeddings' });
});

it('the environment works with any key and model name', () => {
  const model = `a'b"c$HOME\\\`d`;
  const shell = `${environment('http://a/v1', 'sk', model)}; printf %s "$GATEWAY_URL $GATEWAY_KEY $GATEWAY_MODEL"`;
  expect(execFileSync('sh', ['-c', shell], { encoding: 'utf8' })).toBe(`http://a/v1 sk ${model}`);
});
