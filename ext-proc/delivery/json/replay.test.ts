import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { StoredResponse } from '../../billing/idempotency/stored-response.ts';
import { SharedBudget } from '../../fairness/shared-budget.ts';
import { client } from '../client.fixture.ts';
import { type Replay, replayResponse } from './replay.ts';

type Piece = string | Error | 'gone';

/** A stored answer in these pieces, and how many of them were read. */
function storedIn(pieces: readonly Piece[], changes: Partial<Replay & StoredResponse> = {}) {
  let read = 0;
  const bytes = Buffer.byteLength(pieces.join(''));
  const stored: StoredResponse = {
    bytes,
    memoryBytes: Math.min(bytes, 100),
    async next() {
      const piece = pieces[read];
      if (piece === undefined) return 'end';
      read += 1;
      if (piece instanceof Error) throw piece;
      return piece === 'gone' ? piece : Buffer.from(piece);
    },
    ...changes,
  };
  const replay: Replay = {
    generationId: 'gen-EARLIER',
    organizationId: 'org_a',
    streamed: false,
    headers: { 'request-id': 'r' },
    open: async () => stored,
    timeoutMs: 60_000,
    ...changes,
  };
  return { replay, read: () => read };
}

const HEADERS = { 'request-id': 'r', 'x-generation-id': 'gen-EARLIER', 'idempotent-replayed': 'true' };
const PIECES = ['the ', 'same ', 'bytes'];
/** More than is answered whole. */
const LARGE = 300_000;

describe('a replay', () => {
  test('sends JSON whole and a stream as a stream, with the generation id of the first response', async () => {
    const [json, stream] = [client(), client()];
    const budget = new SharedBudget(100);
    expect(await replayResponse(storedIn(PIECES).replay, json.exchange, budget)).toEqual({ answered: true });
    const { replay } = storedIn(PIECES, { streamed: true });
    expect(await replayResponse(replay, stream.exchange, budget)).toEqual({ answered: true });
    const body = Buffer.from('the same bytes');
    expect(json.responses).toEqual([
      { status: 200, headers: { ...HEADERS, 'content-type': 'application/json' }, body },
    ]);
    expect(stream.heads).toEqual([{ status: 200, headers: { ...HEADERS, 'content-type': 'text/event-stream' } }]);
    expect([stream.text(), stream.ended, budget.heldBytes]).toEqual(['the same bytes', true, 0]);
  });

  test('of large JSON has its content-length, and is sent piece by piece', async () => {
    const to = client();
    const { replay } = storedIn(PIECES, { bytes: LARGE });
    expect(await replayResponse(replay, to.exchange, new SharedBudget(100))).toEqual({ answered: true });
    const ofBody = { 'content-type': 'application/json', 'content-length': String(LARGE) };
    expect(to.heads[0]?.headers).toEqual({ ...HEADERS, ...ofBody });
    expect(to.written).toEqual(PIECES);
  });

  test('reads the next piece when the client has taken the one before, and none for a client that left', async () => {
    const to = client();
    to.stopReading();
    const { replay, read } = storedIn(['one', 'two', 'three'], { streamed: true });
    const replayed = replayResponse(replay, to.exchange, new SharedBudget(100));
    await expect.poll(() => to.written).toEqual(['one']);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(read()).toBe(1);
    to.leave();
    expect(await replayed).toEqual({ answered: true });
    expect([read(), to.ended]).toEqual([1, false]);
  });

  test('is refused if there is no memory or the stored response is gone, and sends nothing', async () => {
    const to = client();
    const budget = new SharedBudget(99);
    const refused = { answered: false, refusal: { code: 'no_capacity' } };
    const large = storedIn(PIECES, { memoryBytes: 100 });
    const gone = storedIn([], { open: async () => undefined });
    for (const { replay } of [large, gone, storedIn(['gone']), storedIn(['the ', 'gone'])])
      expect(await replayResponse(replay, to.exchange, budget)).toMatchObject(refused);
    expect([to.responses, to.heads, budget.heldBytes]).toEqual([[], [], 0]);
  });

  test.each([true, false])('whose stored response disappears midway is broken off (stream: %s)', async (streamed) => {
    const to = client();
    const { replay } = storedIn(['one', 'gone'], { streamed, bytes: LARGE });
    const outcome = { answered: true, refusal: { code: 'no_capacity' } };
    expect(await replayResponse(replay, to.exchange, new SharedBudget(100))).toMatchObject(outcome);
    expect([to.text(), to.aborted, to.ended]).toEqual(['one', true, false]);
  });

  test('with a later piece that was tampered with is broken off, and the error is reported', async () => {
    const to = client();
    const budget = new SharedBudget(100);
    const { replay } = storedIn(['one', new Error('changed')], { streamed: true });
    await expect(replayResponse(replay, to.exchange, budget)).rejects.toThrow('changed');
    expect([to.text(), to.aborted, to.ended, budget.heldBytes]).toEqual(['one', true, false, 0]);
  });

  test('cuts a client off that does not read in time, and reads nothing more for it', async () => {
    const to = client();
    to.stopReading();
    const { replay, read } = storedIn(PIECES, { streamed: true, timeoutMs: 100 });
    await replayResponse(replay, to.exchange, new SharedBudget(100));
    expect([to.aborted, to.ended, read()]).toEqual([true, false, 1]);
  });

  test.each([true, false])(
    'cuts a client off that does not read while others need the memory (stream: %s)',
    async (streamed) => {
      const to = client();
      to.stopReading();
      const budget = new SharedBudget(1_000_000);
      const { replay } = storedIn(PIECES, { streamed, bytes: LARGE, memoryBytes: 900_000 });
      const replayed = replayResponse(replay, to.exchange, budget);
      await expect.poll(() => to.heads.length).toBe(1);
      expect(budget.open().take(200_000)).toBe(true);
      expect(await replayed).toEqual({ answered: true });
      expect([to.aborted, to.ended, budget.heldBytes]).toEqual([true, false, 200_000]);
    },
  );
});
