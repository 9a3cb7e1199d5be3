import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { ProcessingResponse } from '#proto/generated/ext_proc.ts';
import { EndpointPickers } from './endpoint-picker.ts';
import { DESTINATION } from './picker-messages.ts';

const PREFIX_BYTES = 5;
const PICKED = '127.0.0.1:7';

const sessions: ServerHttp2Session[] = [];
let answer: (stream: ServerHttp2Stream) => void;
const picker = createServer();
picker.on('session', (session) => sessions.push(session));
picker.on('stream', (stream) => {
  stream.on('error', () => {});
  stream.on('end', () => stream.end());
  stream.resume();
  answer(stream);
});
picker.listen(0, '127.0.0.1');
await once(picker, 'listening');
const { port } = picker.address() as AddressInfo;
let nowMs = 0;
const seen: (string | undefined)[] = [];
const pickers = new EndpointPickers(() => nowMs, {
  onResult: (provider, result) => seen.push(`${provider} ${result}`),
  onChange: (_picker, problem) => seen.push(problem ?? 'works'),
});
afterAll(() => {
  pickers.close();
  picker.close();
});

function picks(stream: ServerHttp2Stream): void {
  const header = { key: DESTINATION, rawValue: Buffer.from(PICKED) };
  const headerMutation = { setHeaders: [{ header, appendAction: 2 as const }], removeHeaders: [] };
  const response = { headerMutation, bodyMutation: undefined, clearRouteCache: false };
  const message = ProcessingResponse.encode({ requestHeaders: { response } }).finish();
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond({ ':status': 200 });
  stream.write(Buffer.concat([prefix, message]));
}

const provider = { name: 'own', endpointPicker: new URL(`http://127.0.0.1:${port}`) };
const pick = (body = Buffer.from('{}')) => pickers.pick(provider, '/v1/chat/completions', [body]);

test('a connection without a reply is closed, and the next request opens another', async () => {
  answer = picks;
  const inProgress = await pick();
  expect(inProgress.answer).toEqual({ kind: 'picked', endpoints: PICKED });
  answer = () => {};
  expect((await pick()).answer).toEqual({ kind: 'unavailable' });
  nowMs += 1_000;
  // Other requests on it are not cut off.
  expect(sessions.map(({ destroyed }) => destroyed)).toEqual([false]);
  answer = picks;
  const next = await pick();
  expect(next.answer.kind).toBe('picked');
  expect(sessions.length).toBe(2);
  inProgress.done();
  await expect.poll(() => sessions.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  next.done();
});

test('a picker that hangs delays ever fewer requests, and is reported when it begins and ends to fail', async () => {
  seen.length = 0;
  let asked = 0;
  const askedOf = async (picks: number) => {
    const before = asked;
    await Promise.all(Array.from({ length: picks }, () => pick()));
    return asked - before;
  };
  answer = () => void asked++;
  expect(await askedOf(2)).toBe(2);
  nowMs += 999;
  expect(await askedOf(2)).toBe(0);
  nowMs += 1;
  expect(await askedOf(3)).toBe(1);
  nowMs += 1_999;
  expect(await askedOf(1)).toBe(0);
  const unavailable = 'own unavailable';
  expect(seen).toEqual(['no answer in time', ...Array(8).fill(unavailable)]);
  nowMs += 1;
  answer = picks;
  const next = await pick();
  next.done();
  expect(next.answer.kind).toBe('picked');
  expect(seen.slice(9)).toEqual(['works', 'own picked']);
});

test('a body that takes the picker too long leaves it to the other requests', async () => {
  seen.length = 0;
  const large = Buffer.alloc(1024 * 1024 + 1);
  const unavailable = 'own unavailable';
  answer = () => {};
  await pick(large);
  answer = picks;
  (await pick()).done();
  expect(seen).toEqual([unavailable, 'own picked']);
  answer = () => {};
  await pick();
  nowMs += 1_000;
  await pick(large);
  answer = picks;
  (await pick()).done();
  expect(seen.slice(2)).toEqual(['no answer in time', unavailable, unavailable, 'works', 'own picked']);
  const used = new Set<unknown>();
  answer = ({ session }) => void used.add(session);
  await Promise.all([pick(large), pick()]);
  expect(used.size).toBe(2);
});

test('the reason of a dead picker is named', async () => {
  seen.length = 0;
  const dead = { name: 'dead', endpointPicker: new URL('http://127.0.0.1:1') };
  await pickers.pick(dead, '/v1', []);
  expect(seen).toEqual([expect.stringContaining('ECONNREFUSED'), 'dead unavailable']);
});
