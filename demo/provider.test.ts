import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDemoProvider } from './server.ts';

const PROGRAM = resolve(import.meta.dirname, 'provider.ts');
let demo: Awaited<ReturnType<typeof startDemoProvider>>;

beforeAll(async () => {
  demo = await startDemoProvider({ port: 0, paceMs: 1, slowMs: 100 });
});

afterAll(() => demo.close());

function ask(text: string, more: object = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${demo.port}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: text }], ...more }),
  });
}

test('tells what it is, and echoes the message', async () => {
  const body = (await (await ask('good morning')).json()) as { choices: [{ message: { content: string } }] };
  const { content } = body.choices[0].message;
  expect(content).toContain('not a language model');
  expect(content).toContain('"good morning" (2 words)');
});

test('streams word by word with the usage that was asked for', async () => {
  const text = await (await ask('hi', { stream: true, stream_options: { include_usage: true } })).text();
  const events = text.trimEnd().split('\n\n');
  expect(events.length).toBeGreaterThan(20);
  expect(events.at(-1)).toBe('data: [DONE]');
  const usage = (JSON.parse((events.at(-2) ?? '').slice(6)) as { usage: Record<string, number> }).usage;
  expect(usage.completion_tokens).toBeGreaterThan(10);
  expect(usage.total_tokens).toBe(Number(usage.prompt_tokens) + Number(usage.completion_tokens));
});

test('stops at the output limit', async () => {
  const body = await (await ask('hi', { max_tokens: 3 })).json();
  expect(body).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 3 } });
});

test.each([400, 401, 429, 500, 503])('answers %i on request', async (status) => {
  expect((await ask(`fail: ${status}`)).status).toBe(status);
});

test('fails before an answer', async () => {
  await expect(ask('fail: reset')).rejects.toThrow();
  expect((await ask('fail: html')).headers.get('content-type')).toBe('text/html');
});

test('fails in the middle of an answer', async () => {
  const stream = { stream: true };
  await expect((await ask('fail: cut', stream)).text()).rejects.toThrow();
  expect(await (await ask('fail: no-done', stream)).text()).not.toContain('[DONE]');
  expect(await (await ask('fail: error-event', stream)).text()).toMatch(/choices.*\n\ndata: {"error"/);
  expect(await (await ask('fail: error-first', stream)).text()).toMatch(/^data: {"error"/);
});

test('fails the same ways without a stream', async () => {
  await expect((await ask('fail: cut')).text()).rejects.toThrow();
  const unfinished = await (await ask('fail: no-done')).text();
  expect(() => JSON.parse(unfinished)).toThrow();
  for (const name of ['error-event', 'error-first']) {
    expect(await (await ask(`fail: ${name}`)).json()).toMatchObject({ error: { code: 'demo_failure' } });
  }
});

test('an unknown failure is an ordinary message, and slow is slow', async () => {
  expect((await ask('fail: constructor')).status).toBe(200);
  const began = performance.now();
  expect((await ask('slow')).status).toBe(200);
  expect(performance.now() - began).toBeGreaterThanOrEqual(95);
});

test('tells its parent again and again that it serves', async () => {
  const child = fork(PROGRAM, ['--idle-ms', '60000']);
  for (let times = 0; times < 2; times++) expect((await once(child, 'message'))[0]).toEqual({ type: 'listening' });
  child.disconnect();
  await once(child, 'exit');
});

test.each(['ipc', 'pipe'] as const)('leaves when its parent goes away (%s)', async (link) => {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, '--port', '0'], {
    stdio: link === 'ipc' ? ['ignore', 'pipe', 'inherit', 'ipc'] : ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdout) await once(child.stdout, 'data');
  const exit = once(child, 'exit');
  if (link === 'ipc') child.disconnect();
  else child.stdin?.end();
  expect(await exit).toEqual([0, null]);
});
