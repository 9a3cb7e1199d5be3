import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { DeadlineTimer } from '../../fairness/deadline-timer.ts';
import { type AdmittedRequestOptions, admittedRequest } from '../admitted-request.fixture.ts';
import { client } from '../client.fixture.ts';
import { ClientStream } from './client-stream.ts';

const EVERY_MS = 16_000;
/** Heartbeats come at multiples of this. */
const GRAIN_MS = 250;
const BEAT = ': heartbeat\n\n';
const EVENT = 'data: {}\n\n';

let heartbeats: DeadlineTimer;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  heartbeats = new DeadlineTimer();
});

afterEach(() => {
  heartbeats.close();
  vi.useRealTimers();
});

function begin(options: AdmittedRequestOptions = {}, to = client()) {
  const timeouts = { heartbeatMs: EVERY_MS, ...options.timeouts };
  const deadlineMs = systemClock.monotonicMs() + 3_600_000;
  const admitted = { ...admittedRequest({ stream: true, ...options, timeouts }), deadlineMs };
  const stream = new ClientStream({ admitted, exchange: to.exchange, clock: systemClock }, heartbeats);
  return { to, stream };
}

describe('a heartbeat', () => {
  test('opens the response after the first silence, and follows each further one', async () => {
    const { to, stream } = begin();
    await vi.advanceTimersByTimeAsync(EVERY_MS - 1);
    expect([stream.isBegun, to.heads]).toEqual([false, []]);
    await vi.advanceTimersByTimeAsync(1);
    expect(stream.isBegun).toBe(true);
    const headers = { 'x-ratelimit-limit-requests': '5', 'x-generation-id': 'gen-TEST' };
    expect(to.heads).toEqual([{ status: 200, headers: { ...headers, 'content-type': 'text/event-stream' } }]);
    expect(to.written).toEqual([BEAT]);
    await vi.advanceTimersByTimeAsync(2 * EVERY_MS);
    expect(to.written).toEqual([BEAT, BEAT, BEAT]);
    expect(await stream.open(1000)).toBe(true);
    expect(to.heads).toHaveLength(1);
  });

  test('comes exactly after each silence of its interval', async () => {
    const pauses = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(pauses, async (waits) => {
        const { to, stream } = begin();
        // Another stream that is never silent, on the same timer.
        const busy = begin();
        await Promise.all([stream.open(1000), busy.stream.open(1000)]);
        for (const grains of waits) {
          const before = to.written.length;
          const waitMs = grains * GRAIN_MS;
          for (let leftMs = waitMs; leftMs > 0; leftMs -= 5_000) {
            await vi.advanceTimersByTimeAsync(Math.min(leftMs, 5_000));
            busy.stream.write(EVENT);
          }
          stream.write(EVENT);
          const beats = Array.from({ length: Math.floor(waitMs / EVERY_MS) }, () => BEAT);
          expect(to.written.slice(before)).toEqual([...beats, EVENT]);
        }
        expect(busy.to.text()).not.toContain(BEAT);
        stream.stop();
        busy.stream.stop();
      }),
      { numRuns: 50 },
    );
  });

  test('is late by a 64th of its interval at most', async () => {
    await vi.advanceTimersByTimeAsync(1);
    const { to, stream } = begin();
    await vi.advanceTimersByTimeAsync(EVERY_MS + GRAIN_MS - 2);
    expect(to.written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(to.written).toEqual([BEAT]);
    stream.stop();
  });

  test.each<[string, AdmittedRequestOptions]>([
    ['where it is switched off', { timeouts: { heartbeatMs: 0 } }],
    ['in a JSON response', { stream: false }],
  ])('never comes %s', async (_, options) => {
    const { to, stream } = begin(options);
    await vi.advanceTimersByTimeAsync(10 * EVERY_MS);
    expect([stream.isBegun, to.heads, vi.getTimerCount()]).toEqual([false, [], 0]);
  });

  test('is left out while other bytes wait for a slow client', async () => {
    const { to, stream } = begin();
    await stream.open(1000);
    to.stopReading();
    stream.write(EVENT);
    await vi.advanceTimersByTimeAsync(10 * EVERY_MS);
    expect(to.written).toEqual([EVENT]);
    to.read();
    await vi.advanceTimersByTimeAsync(EVERY_MS);
    expect(to.written).toEqual([EVENT, BEAT]);
  });

  test('does not come after the end, nor for a client that has left', async () => {
    const [ended, left, stopped] = [begin(), begin(), begin()];
    await Promise.all([ended.stream.open(1000), left.stream.open(1000)]);
    expect(await ended.stream.end('end')).toBe(true);
    expect(await ended.stream.end('again')).toBe(false);
    left.to.leave();
    stopped.stream.stop();
    await vi.advanceTimersByTimeAsync(3 * EVERY_MS);
    expect([ended.to.written, left.to.written, stopped.to.heads]).toEqual([['end'], [], []]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('comes once when the response is slow to open, and not before it', async () => {
    const to = client();
    const opened = Promise.withResolvers<void>();
    const openStream = to.exchange.openStream;
    to.exchange.openStream = (head) => opened.promise.then(() => openStream(head));
    const { stream } = begin({}, to);
    await vi.advanceTimersByTimeAsync(5 * EVERY_MS);
    expect(to.written).toEqual([]);
    opened.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(to.written).toEqual([BEAT]);
    stream.write(EVENT);
    expect(to.written).toEqual([BEAT, EVENT]);
  });
});

const KIB = 1024;

/** How many pieces a client takes, each so long after it was written, until it counts as gone. */
async function piecesTaken(pieceBytes: number, afterMs: number, most: number): Promise<number> {
  const { to, stream } = begin({ timeouts: { heartbeatMs: 0, totalMs: 3_600_000 } });
  await stream.open(1000);
  let taken = 0;
  for (; taken < most; taken++) {
    to.stopReading();
    stream.write('x'.repeat(pieceBytes));
    const drained = stream.drained(new AbortController().signal);
    setTimeout(() => to.read(), afterMs);
    await vi.advanceTimersByTimeAsync(afterMs);
    if (!(await drained)) break;
  }
  return taken;
}

test.each<[what: string, pieceBytes: number, afterMs: number, taken: number]>([
  ['takes nothing for 20 s', 64 * KIB, 20_001, 0],
  ['takes 64 KiB in 19 s, which is 3.4 KiB a second', 64 * KIB, 19_000, 1],
  ['takes 15 KiB a second', 15 * KIB, 1_000, 320],
])('a client that %s counts as gone before the provider gives up', async (_, pieceBytes, afterMs, most) => {
  expect(await piecesTaken(pieceBytes, afterMs, 1_000)).toBeLessThanOrEqual(most);
});

test('a client that takes 16 KiB a second is waited for as long as it likes', async () => {
  expect(await piecesTaken(16 * KIB, 1_000, 1_000)).toBe(1_000);
});

test('a client that pauses for 15 s now and then is waited for', async () => {
  expect(await piecesTaken(256 * KIB, 15_000, 100)).toBe(100);
});
