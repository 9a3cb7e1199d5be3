import { connect } from 'node:http2';
import { get } from 'node:https';
import { createSecureContext } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { errorEvent, jsonAnswer, reset, streamThen } from './acts.ts';
import { makeCertificate } from './certificate.ts';
import { type FakeProvider, startFakeProvider } from './fake-provider.ts';
import { createGate } from './gate.ts';

const running: FakeProvider[] = [];

afterEach(async () => {
  for (const provider of running.splice(0)) await provider.close();
});

async function start(...args: Parameters<typeof startFakeProvider>): Promise<FakeProvider> {
  const provider = await startFakeProvider(...args);
  running.push(provider);
  return provider;
}

function ask(provider: FakeProvider, body: object): Promise<Response> {
  return fetch(`${provider.baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
}

test('without a script it returns JSON or a stream, and records the requests', async () => {
  const provider = await start();
  expect(await (await ask(provider, { model: 'a' })).json()).toMatchObject({ object: 'chat.completion', model: 'a' });
  const stream = await (await ask(provider, { model: 'a', stream: true })).text();
  expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(provider.requests('a').map(({ stream, answered }) => ({ stream, answered }))).toEqual([
    { stream: false, answered: true },
    { stream: true, answered: true },
  ]);
});

test('plays one act for each request and repeats the last', async () => {
  const provider = await start();
  provider.script('a', reset, jsonAnswer({ text: 'second' }));
  await expect(ask(provider, { model: 'a' })).rejects.toThrow();
  for (const _ of [2, 3]) expect(await (await ask(provider, { model: 'a' })).text()).toContain('second');
});

test('breaks a stream at the scripted event', async () => {
  const provider = await start();
  provider.script('a', streamThen(2, reset), streamThen(1, errorEvent('busy')));
  const broken = await ask(provider, { model: 'a', stream: true });
  await expect(broken.text()).rejects.toThrow();
  expect(await (await ask(provider, { model: 'a', stream: true })).text()).toMatch(
    /"message":"busy".*\n\ndata: \[DONE]/,
  );
});

test('holds requests until the gate opens', async () => {
  const provider = await start();
  const gate = createGate();
  provider.script('a', gate.before(jsonAnswer()));
  const answers = [1, 2, 3].map(() => ask(provider, { model: 'a' }));
  await gate.waitFor(3);
  expect(provider.requests('a').some(({ answered }) => answered)).toBe(false);
  gate.open();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('speaks TLS with HTTP/1.1 and HTTP/2 under a certificate that verifies', async () => {
  const tls = makeCertificate();
  const provider = await start({ tls, http2: true });
  const status = await new Promise((resolve, reject) => {
    get(`${provider.baseUrl}/x`, { ca: tls.cert }, (response) => resolve(response.statusCode)).on('error', reject);
  });
  expect(status).toBe(200);
  const session = connect(`https://localhost:${provider.port}`, { ca: tls.cert });
  const headers = await new Promise<{ ':status'?: number }>((resolve, reject) => {
    session.on('error', reject);
    session.request({ ':path': '/v1/x' }).on('response', resolve).resume();
  });
  session.close();
  expect(headers[':status']).toBe(200);
  expect(provider.requests().map(({ httpVersion }) => httpVersion)).toEqual(['1.1', '2.0']);
});

// Names of each length, because only some sizes fill the last line of a PEM text.
test('certificates of every size are loaded by TLS', () => {
  for (let length = 1; length <= 60; length += 1) {
    expect(() => createSecureContext(makeCertificate(Date.now(), 'a'.repeat(length)))).not.toThrow();
  }
});
