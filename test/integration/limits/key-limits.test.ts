import { afterAll, expect, test } from 'vitest';
import { DAY_MS, firstOfNextMonth, MINUTE_MS, utcDay, utcDayText } from '#core/clock.ts';
import {
  errorOf,
  type GatewayClient,
  gatewayClient,
  jsonOf,
  outcome,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import type { Received } from '../../harness/http-client.ts';
import { createTestClock, type TestClock } from '../../harness/test-clock.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { allAtOnce, countOutcomes } from '../../load/all-at-once.ts';
import { jsonAnswer } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

let clock: TestClock;

const gateway = withGateway(() => {
  clock = createTestClock();
  return {
    env: clock.env,
    config: {
      // Only output has a price, so that a hold is exactly the output limit: 100 tokens at 1 USD
      // per million.
      models: { exact: { usd_per_million_tokens: { input: 0, output: 1 } } },
      timeouts: { first_byte: '50s', stream_idle: '50s', total: '60s' },
      limits: { read_rpm: READ_RPM },
    },
  };
});

afterAll(async () => {
  clock?.remove();
});

const LIMIT = 100;
/** Higher than needed here, because other tests poll the credits within a minute. */
const READ_RPM = 100;
/** Time before the end of a day or month, long enough for a machine that stalls for a moment. */
const SOON_MS = 20_000;
const COST_NANO_USD = 100_000n;

/**
 * Sets the clock to this second of a new minute after noon, so that only the test moves it past the
 * end of a minute or day.
 */
function toSecond(second: number): void {
  const noon = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS + DAY_MS / 2;
  minutes += 2;
  clock.set(noon + minutes * MINUTE_MS + second * 1000);
}
let minutes = 0;

function toNextMinute(): void {
  clock.set((Math.floor(clock.nowMs() / MINUTE_MS) + 1) * MINUTE_MS + 1000);
}

function nextMidnight(): number {
  return (Math.floor(clock.nowMs() / DAY_MS) + 1) * DAY_MS;
}

function ask(client: GatewayClient, maxTokens = LIMIT): Promise<Received> {
  return client.chat({ model: 'exact', max_tokens: maxTokens });
}

/**
 * Expects a retry-after that leads to `untilMs`, to the second. The request was decided at some
 * time after it was sent and before now.
 */
function expectRetryAfter(received: Received, untilMs: number, sentAtMs: number): void {
  const retryAfter = Number(received.headers['retry-after']);
  expect(retryAfter).toBeGreaterThanOrEqual((untilMs - clock.nowMs()) / 1000 - 1);
  expect(retryAfter).toBeLessThanOrEqual((untilMs - sentAtMs) / 1000 + 1);
}

const minuteEnd = () => (Math.floor(clock.nowMs() / MINUTE_MS) + 1) * MINUTE_MS;

function manyAtOnce(client: GatewayClient, requests = 60, outputTokens = LIMIT): Promise<readonly Received[]> {
  const crowd = { clients: [client], requests, served: 10, maxTokens: LIMIT, outputTokens };
  return allAtOnce(gateway.provider, crowd);
}

test('50 at once at rpm 10: exactly 10 are served, the rest get the retry-after of the next minute', async () => {
  gateway.provider.script('exact', jsonAnswer());
  toSecond(20);
  const { key } = await gateway.stack.operator.customer({ organization: { requestsPerMinute: 10 } });
  const client = gatewayClient(gateway.stack.origin, key);
  const sentAtMs = clock.nowMs();
  const received = await Promise.all(Array.from({ length: 50 }, () => ask(client)));
  expect(countOutcomes(received)).toEqual({ '200': 10, '429 rpm_exceeded': 40 });
  const served = received.filter(({ status }) => status === 200);
  const left = served.map(({ headers }) => Number(headers['x-ratelimit-remaining-requests']));
  expect(left.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const one of received) {
    expect(one.headers['x-ratelimit-limit-requests']).toBe('10');
    expect(one.headers['x-ratelimit-reset-requests']).toMatch(/^\d+s$/);
    expect(one.headers['x-ratelimit-limit-tokens']).toBeUndefined();
    if (one.status === 200) continue;
    expect(errorOf(one).message).toBe('Too many requests of this organization in this minute.');
    expect(one.headers['x-ratelimit-remaining-requests']).toBe('0');
    expect(one.headers['x-should-retry']).toBeUndefined();
    expectRetryAfter(one, minuteEnd(), sentAtMs);
  }
  toNextMinute();
  const next = await ask(client);
  expect(next.status).toBe(200);
  expect(next.headers['x-ratelimit-remaining-requests']).toBe('9');
});

test('a request without a free slot gets retry-after 1 and counts against nothing; slots are free afterwards', async () => {
  toSecond(20);
  const { key } = await gateway.stack.operator.customer({
    organization: { concurrency: 3, requestsPerMinute: 5 },
  });
  const client = gatewayClient(gateway.stack.origin, key);
  const gate = createGate();
  gateway.provider.script('exact', gate.before(jsonAnswer()));
  const inFlight = [ask(client), ask(client), ask(client)];
  await gate.waitFor(3);
  for (let i = 0; i < 3; i++) {
    const refused = await ask(client);
    expect(outcome(refused)).toBe('429 rpm_exceeded');
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.headers['x-ratelimit-remaining-requests']).toBe('2');
  }
  gate.open();
  expect((await Promise.all(inFlight)).map(outcome)).toEqual(['200', '200', '200']);
  expect([outcome(await ask(client)), outcome(await ask(client))]).toEqual(['200', '200']);
});

test('tpm counts estimate and output limit at admission, and the usage once it is known', async () => {
  toSecond(20);
  const { key } = await gateway.stack.operator.customer({ organization: { tokensPerMinute: 1000 } });
  const client = gatewayClient(gateway.stack.origin, key);
  const gate = createGate();
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  gateway.provider.script('exact', gate.before(jsonAnswer({ usage })));
  const inFlight = [ask(client, 400), ask(client, 400)];
  await gate.waitFor(2);
  const sentAtMs = clock.nowMs();
  const refused = await ask(client, 400);
  expect(outcome(refused)).toBe('429 tpm_exceeded');
  expect(errorOf(refused).message).toBe(
    'The token budget of this organization for this minute does not cover this request.',
  );
  expectRetryAfter(refused, minuteEnd(), sentAtMs);
  gate.open();
  const answers = await Promise.all(inFlight);
  const left = answers.map(({ headers }) => Number(headers['x-ratelimit-remaining-tokens'])).toSorted((a, b) => b - a);
  const estimate = 600 - (left[0] ?? 0);
  expect(estimate).toBeGreaterThan(0);
  expect(estimate).toBeLessThan(30);
  expect(left).toEqual([600 - estimate, 200 - 2 * estimate]);
  await untilNothingHeld(client);
  const next = await ask(client, 400);
  expect(outcome(next)).toBe('200');
  expect(next.headers['x-ratelimit-remaining-tokens']).toBe(String(1000 - 2 * 15 - 400 - estimate));
  toNextMinute();
  // A request above the whole limit is served if the window is empty, and uses it up.
  gateway.provider.script('exact', jsonAnswer({ usage: { prompt_tokens: 10, completion_tokens: 3000 } }));
  const large = await ask(client, 5000);
  expect(outcome(large)).toBe('200');
  expect(large.headers['x-ratelimit-remaining-tokens']).toBe('0');
  expect(outcome(await ask(client, 1))).toBe('429 tpm_exceeded');
});

test.each(['key', 'organization'] as const)(
  'a daily budget of the %s for 10, 60 at once: 10 are served; midnight resets it',
  async (owner) => {
    toSecond(20);
    const limits = { dailyBudgetNanoUsd: 10n * COST_NANO_USD };
    const { organizationId, key } = await gateway.stack.operator.customer({ [owner]: limits });
    const client = gatewayClient(gateway.stack.origin, key);
    const sentAtMs = clock.nowMs();
    const received = await manyAtOnce(client);
    expect(countOutcomes(received)).toEqual({ '200': 10, '429 daily_budget_exceeded': 50 });
    for (const one of received.filter(({ status }) => status === 429)) {
      expect(one.headers['x-should-retry']).toBe('false');
      const whose = owner === 'key' ? 'this API key' : 'this organization';
      expect(errorOf(one).message).toContain(`The daily spend budget of ${whose} does not cover`);
      expectRetryAfter(one, nextMidnight(), sentAtMs);
    }
    clock.set(nextMidnight() - SOON_MS);
    const lateAtMs = clock.nowMs();
    const late = await ask(client);
    expect(outcome(late)).toBe('429 daily_budget_exceeded');
    expectRetryAfter(late, nextMidnight(), lateAtMs);
    clock.set(nextMidnight() + 100);
    expect(outcome(await ask(client))).toBe('200');
    expect(await gateway.stack.operator.balance(organizationId)).toBe(100 - 11 * 0.0001);
    await gateway.stack.operator.verifyLedger();
  },
);

test('a jump of the clock frees no hold, and a request belongs to the day of its admission', async () => {
  toSecond(20);
  clock.set(nextMidnight() - SOON_MS);
  const day = Math.floor(clock.nowMs() / DAY_MS);
  const { key } = await gateway.stack.operator.customer({ credit: '0.0001' });
  const client = gatewayClient(gateway.stack.origin, key);
  const gate = createGate();
  gateway.provider.script('exact', gate.before(jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 40 } })));
  const inFlight = ask(client);
  await gate.waitFor(1);
  for (const jumpMs of [20_000, 3_600_000, -3_700_000]) {
    clock.set(clock.nowMs() + jumpMs);
    expect(outcome(await ask(client))).toBe('402 insufficient_credits');
  }
  clock.set((day + 1) * DAY_MS + 60_000);
  gate.open();
  expect(outcome(await inFlight)).toBe('200');
  const date = utcDayText(day);
  const usage = jsonOf<{ data: unknown[] }>(await client.get(`/v1/usage?start_date=${date}&end_date=${date}`));
  expect(usage.data).toMatchObject([{ date, requests: 1, cost: 0.00004 }]);
  await gateway.stack.operator.verifyLedger();
});

test('reads have their own limit, which the next minute resets', async () => {
  toSecond(20);
  gateway.provider.script('exact', jsonAnswer());
  const { key } = await gateway.stack.operator.customer();
  const client = gatewayClient(gateway.stack.origin, key);
  const received: Received[] = [];
  for (let i = 0; i < READ_RPM + 1; i++) received.push(await client.get('/v1/models'));
  expect(countOutcomes(received)).toEqual({ '200': READ_RPM, '429 rpm_exceeded': 1 });
  const sentAtMs = clock.nowMs();
  expectRetryAfter(await client.get('/v1/credits'), minuteEnd(), sentAtMs);
  expect(outcome(await ask(client))).toBe('200');
  toNextMinute();
  expect(outcome(await client.get('/v1/credits'))).toBe('200');
});

test.each([
  ['monthly_budget', { monthlyBudgetNanoUsd: 10n * COST_NANO_USD }, '200'],
  ['lifetime_budget', { lifetimeBudgetNanoUsd: 10n * COST_NANO_USD }, '402 insufficient_credits'],
] as const)(
  'a %s for 10, 64 at once: 10 are served, and a new month resets the monthly one',
  async (limit, limits, inNewMonth) => {
    toSecond(20);
    const { key } = await gateway.stack.operator.customer({ organization: { concurrency: 100 }, key: limits });
    const client = gatewayClient(gateway.stack.origin, key);
    expect(countOutcomes(await manyAtOnce(client, 64))).toEqual({
      '200': 10,
      '402 insufficient_credits': 54,
    });
    const monthEnds = firstOfNextMonth(utcDay(clock.nowMs())) * DAY_MS;
    clock.set(monthEnds - SOON_MS);
    const resets = limit === 'monthly_budget' ? { resets_at: new Date(monthEnds).toISOString() } : {};
    const amounts = { available_usd: 0, estimated_usd: 0.0001, affordable_output_tokens: 0 };
    expect(errorOf(await ask(client)).metadata).toEqual({ ...amounts, limit, ...resets });
    clock.set(monthEnds + 100);
    expect(outcome(await ask(client))).toBe(inNewMonth);
    await gateway.stack.operator.verifyLedger();
  },
);
