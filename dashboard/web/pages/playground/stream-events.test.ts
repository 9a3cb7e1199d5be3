import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventsOf } from './play.ts';

const BYTES = new TextEncoder().encode(
  ': heartbeat\n\ndata: {"a":"ä€😀"}\n\nevent: x\ndata: one\ndata:two\n\ndata: [DONE]\n\n',
);

function inPieces(bytes: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return ReadableStream.from(at.slice(1).map((end, index) => bytes.slice(at[index], end)));
}

async function all(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const found: string[] = [];
  for await (const data of eventsOf(stream)) found.push(data);
  return found;
}

test('events do not depend on how the stream is split, and comments are skipped', async () => {
  const cut = fc.array(fc.nat(BYTES.length), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(cut, async (cuts) => {
      expect(await all(inPieces(BYTES, cuts))).toEqual(['{"a":"ä€😀"}', 'one\ntwo', '[DONE]']);
    }),
  );
});

test('an event that is cut off is ignored', async () => {
  expect(await all(inPieces(new TextEncoder().encode('data: one\n\ndata: tw'), []))).toEqual(['one']);
});

test('a reader that stops cancels the stream', async () => {
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: more\n\n')),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const data of eventsOf(endless)) {
    expect(data).toBe('more');
    break;
  }
  expect(cancelled).toBe(true);
});
