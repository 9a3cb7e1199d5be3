import { expect, test } from 'vitest';
import { ProcessingRequest, ProcessingResponse } from '#proto/generated/ext_proc.ts';
import { DESTINATION, pickerAnswer, pickerRequest } from './picker-messages.ts';

const PREFIX_BYTES = 5;

test('a request has its headers, the body in pieces, and an end', () => {
  const body = [Buffer.alloc(150_000, 'a'), Buffer.from('end')];
  const messages = [...pickerRequest('/v1/chat/completions', body)].map((framed) => {
    expect(framed.readUInt32BE(1)).toBe(framed.length - PREFIX_BYTES);
    return ProcessingRequest.decode(framed.subarray(PREFIX_BYTES));
  });
  const [head, ...pieces] = messages;
  expect(
    head?.requestHeaders?.headers?.headers?.map(({ key, rawValue = new Uint8Array() }) => [
      key,
      Buffer.from(rawValue).toString(),
    ]),
  ).toEqual([
    [':method', 'POST'],
    [':path', '/v1/chat/completions'],
    ['content-type', 'application/json'],
  ]);
  expect(Buffer.concat(pieces.map(({ requestBody }) => requestBody?.body ?? new Uint8Array()))).toEqual(
    Buffer.concat(body),
  );
  expect(pieces.map(({ requestBody }) => requestBody?.endOfStream)).toEqual([false, false, false, false, true]);
});

function answer(name: string, value: string): Buffer {
  const header = { key: name, rawValue: Buffer.from(value) };
  const headerMutation = { setHeaders: [{ header, appendAction: 2 as const }], removeHeaders: ['x'] };
  const response = { headerMutation, bodyMutation: undefined, clearRouteCache: true };
  return Buffer.from(ProcessingResponse.encode({ requestHeaders: { response } }).finish());
}

test.each([
  [DESTINATION, '10.0.0.1:8000', { kind: 'picked', endpoints: '10.0.0.1:8000' }],
  [DESTINATION, '[fd00::1]:8000, 10.0.0.2:8000', { kind: 'picked', endpoints: '[fd00::1]:8000, 10.0.0.2:8000' }],
  [DESTINATION, 'evil\r\nx: y', { kind: 'unusable' }],
  ['x-other', '10.0.0.1:8000', { kind: 'unusable' }],
])('%s: %j', (name, value, expected) => {
  expect(pickerAnswer(answer(name, value))).toEqual(expected);
});

test('an immediate response is a refusal, and an invalid message throws', () => {
  expect(pickerAnswer(Buffer.from([(7 << 3) | 2, 0]))).toEqual({ kind: 'refused' });
  expect(pickerAnswer(Buffer.alloc(0))).toEqual({ kind: 'unusable' });
  for (const bytes of [[10, 200], [11], [255, 255, 255]])
    expect(() => pickerAnswer(Buffer.from(bytes))).toThrow(RangeError);
});
