import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { DeadlineTimer } from '../../fairness/deadline-timer.ts';
import { admittedRequest } from '../admitted-request.fixture.ts';
import { client } from '../client.fixture.ts';
import { ClientStream } from './client-stream.ts';

const KIB = 1024;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** How many pieces a client takes, each so long after it was written, until it counts as gone. */
async function piecesTaken(pieceBytes: number, afterMs: number, most: number): Promise<number> {
  const heartbeats = new DeadlineTimer();
  const to = client();
  const admitted = admittedRequest({ stream: true, timeouts: { heartbeatMs: 0, totalMs: 3_600_000 } });
  const delivery = { admitted: { ...admitted, deadlineMs: systemClock.monotonicMs() + 3_600_000 } };
  const stream = new ClientStream({ ...delivery, exchange: to.exchange, clock: systemClock }, heartbeats);
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
  heartbeats.close();
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
