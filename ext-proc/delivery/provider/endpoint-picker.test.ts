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
const pickers = new EndpointPickers();
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

const pick = () => pickers.pick(new URL(`http://127.0.0.1:${port}`), '/v1/chat/completions', [Buffer.from('{}')]);

test('a connection without a reply is closed, and the next request opens another', async () => {
  answer = picks;
  const inProgress = await pick();
  expect(inProgress.answer).toEqual({ kind: 'picked', endpoints: PICKED });
  answer = () => {};
  expect((await pick()).answer).toEqual({ kind: 'unknown' });
  // Other requests on it are not cut off.
  expect(sessions.map(({ destroyed }) => destroyed)).toEqual([false]);
  answer = picks;
  await expect.poll(async () => (await pick()).answer.kind).toBe('picked');
  expect(sessions.length).toBe(2);
  inProgress.done();
  await expect.poll(() => sessions.map(({ destroyed }) => destroyed)).toEqual([true, false]);
});
