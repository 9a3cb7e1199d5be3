import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome } from '../harness/gateway-client.ts';
import { END_HEADERS, END_STREAM, FRAME, frame, headerBlock, openRawHttp2, setting } from '../harness/raw-http2.ts';
import { openUnreadRequests, type UnreadRequests } from '../load/unread-requests.ts';
import { type HostileStack, startHostileStack } from './hostile-stack.ts';

/**
 * 100,000 requests of one address whose responses are never read, with production's bounds. Without
 * the bound on open requests they would fill Envoy's heap, and all requests would be refused.
 */
let hostile: HostileStack;
beforeAll(async () => {
  hostile = await startHostileStack({
    postgresSocketDir: inject('postgresSocketDir'),
    bounds: { address_connections: 1_000, address_requests: BOUND, address_rps: 10_000 },
  });
});
afterAll(() => hostile?.close());
showLogsOnFailure(() => hostile);

/** Envoy closes connections that exceed their 100 concurrent streams repeatedly. */
const MANY = { connections: 100, streams: 1_000, path: '/v1/models' };
const PATIENT = { ...MANY, streams: 100 };
const LONG_HEADS = { valueBytes: 650, count: 95 };
const LONGEST_SERVED = { valueBytes: 650, count: 24 };
const BOUND = 2_000;
const REQUESTS_OF_OTHERS = 20;
const EVERY_MS = 200;
/** `stream_flush_timeout` plus five seconds. */
const GONE_WITHIN_MS = 15_000;
const INITIAL_WINDOW = 4;
let addresses = 0;
/** Percent of Envoy's heap. */
const MOST_PRESSURE = 50;

test.each<[what: string, attack: Omit<UnreadRequests, 'localAddress'>, hasKey?: true]>([
  ['heads of 60 KB', { ...MANY, headers: LONG_HEADS }],
  ['heads of a few bytes', MANY],
  ['heads of a few bytes, as many as a connection may have', PATIENT],
  ['the longest heads, as many as a connection may have', { ...PATIENT, headers: LONGEST_SERVED }],
  ['the same with a key', { ...PATIENT, headers: LONGEST_SERVED }, true],
])(
  '%s: others are served, and no request is left 15 s after the last',
  async (_, attack, hasKey) => {
    const localAddress = `127.0.1.${++addresses}`;
    const { stack, attacker, others } = hostile;
    const key = hasKey ? { key: attacker.key } : {};
    let isOpen = false;
    const opening = openUnreadRequests(stack.apiPort, { ...attack, ...key, localAddress }).finally(() => {
      isOpen = true;
    });
    const client = gatewayClient(stack.origin, others.key);
    const outcomes: string[] = [];
    let [mostPressure, mostOpen] = [0, 0];
    for (let index = 0; index < REQUESTS_OF_OTHERS || !isOpen; index++) {
      outcomes.push(outcome(await client.chat({ model: 'json' })));
      mostPressure = Math.max(mostPressure, await hostile.stat('overload.envoy.resource_monitors.fixed_heap.pressure'));
      mostOpen = Math.max(mostOpen, await hostile.stat('http.ingress.downstream_rq_active'));
      await sleep(EVERY_MS);
    }
    client.close();
    const opened = await opening;
    expect(new Set(outcomes)).toEqual(new Set(['200']));
    expect(mostPressure).toBeLessThan(MOST_PRESSURE);
    // One of them is the other customer's.
    expect(mostOpen).toBeLessThanOrEqual(BOUND + 1);
    if (attack.streams === PATIENT.streams) expect(mostOpen).toBeGreaterThanOrEqual(BOUND);
    const open = () => hostile.stat('http.ingress.downstream_rq_active');
    await expect.poll(open, { timeout: GONE_WITHIN_MS }).toBe(0);
    // The address can open requests again.
    const again = await openUnreadRequests(stack.apiPort, { ...PATIENT, connections: 1, localAddress });
    await expect.poll(open).toBe(PATIENT.streams);
    again.close();
    opened.close();
    await hostile.untilQuiet();
  },
  90_000,
);

test('a slow reader of a complete stream receives all of it', async () => {
  const { stack, others } = hostile;
  const slow = await openRawHttp2(stack.apiPort, { settings: setting(INITIAL_WINDOW, 0), localAddress: '127.0.2.1' });
  const fields = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/v1/chat/completions'],
    [':authority', 'gateway'],
    ['authorization', `Bearer ${others.key}`],
  ] as const;
  const body = Buffer.from(
    JSON.stringify({ model: 'paced-stream', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  );
  slow.send(frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields)), frame(FRAME.data, END_STREAM, 1, body));
  const take = (bytes: number) => {
    const update = Buffer.alloc(4);
    update.writeUInt32BE(bytes);
    slow.send(frame(FRAME.windowUpdate, 0, 1, update));
  };
  // The stream takes 3 s. Without reads it would be reset 10 s after its end.
  for (let second = 1; second <= 15; second++) {
    await sleep(1_000);
    take(20);
    await expect.poll(() => slow.answer(1)?.body.length).toBe(20 * second);
  }
  take(1_000_000);
  const answer = await slow.ended(1);
  expect(answer?.end).toBe('clean');
  expect(answer?.body.toString()).toMatch(/\[DONE\]\s*$/);
  slow.socket.destroy();
}, 60_000);
