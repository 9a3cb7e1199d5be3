import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import { idMoment } from '#core/ids.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import {
  eventsOf,
  type GatewayClient,
  gatewayClient,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import type { CustomerOptions } from '../harness/operator.ts';
import { createTestClock, type TestClock } from '../harness/test-clock.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { streamAnswer } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';

/**
 * The gateway process's wall clock jumps, as after a suspended machine or a clock set by hand,
 * while PostgreSQL's does not. Durations, leases and deadlines use the monotonic clock and must not
 * change. Windows, days and expiry follow the wall clock at once, in both directions.
 */
const HOUR_MS = 60 * MINUTE_MS;
const STEP_MS = process.env.CI === 'true' ? 2_000 : 1_000;
/** The clock returns to the real time after each. */
const JUMPS_MS = [HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS];
const USAGE = { prompt_tokens: 3, completion_tokens: 100 };
const COST = 0.0001;

let clock: TestClock;
const clients: GatewayClient[] = [];

const gateway = withGateway(() => {
  clock = createTestClock();
  return {
    env: clock.env,
    config: {
      models: { exact: PLANNED_MODEL, held: PLANNED_MODEL },
      timeouts: { first_byte: '40s', stream_idle: '40s', total: '50s' },
    },
  };
});

beforeAll(async () => {
  gateway.provider.script('exact', plannedAnswer);
});

afterAll(async () => {
  for (const client of clients) client.close();
  clock?.remove();
});

async function customer(options?: CustomerOptions): Promise<GatewayClient> {
  const client = gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer(options)).key);
  clients.push(client);
  return client;
}

const jump = (byMs: number): void => clock.set(Date.now() + byMs);

const ask = (client: GatewayClient, idempotencyKey?: string): Promise<Received> =>
  client.chat(
    { model: 'exact', max_tokens: 100, messages: [{ role: 'user', content: 'plan 1' }] },
    idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } },
  );

test('no client is affected under load, and a request during a jump completes and is charged once', {
  timeout: 120_000,
}, async () => {
  const [loaded, patient] = [await customer(), await customer()];
  const loading = plannedLoad([loaded], performance.now() + (2 * JUMPS_MS.length + 1) * STEP_MS);
  const gate = createGate();
  gateway.provider.script('held', gate.before(streamAnswer({ usage: USAGE })));
  const across: Promise<Received>[] = [];
  for (const byMs of JUMPS_MS.flatMap((ms) => [ms, 0])) {
    across.push(patient.chat({ model: 'held', stream: true, max_tokens: 100 }));
    await gate.waitFor(across.length);
    jump(byMs);
    await sleep(STEP_MS);
  }
  gate.open();
  const tally = await loading;
  expect(Object.keys(tally.outcomes)).toEqual(['complete']);
  expect(tally.complete.size).toBeGreaterThan(100);
  for (const received of await Promise.all(across)) {
    expect(eventsOf(received).at(-1)).toBe('[DONE]');
    const id = String(received.headers['x-generation-id']);
    expect(await settledGeneration(patient, id)).toMatchObject({ total_cost: COST });
    tally.complete.set(id, BigInt(COST * 1e9));
  }
  await Promise.all([untilNothingHeld(loaded), untilNothingHeld(patient)]);
  await expectCharged(gateway.stack.databaseUrl, tally);
  await gateway.stack.operator.verifyLedger();
  // Ids contain the time of the gateway process's clock, so those of the charges above differ by a
  // day in both directions.
  const moments = [...tally.complete.keys()].map(idMoment).sort((a, b) => a - b);
  expect((moments.at(-1) ?? 0) - (moments[0] ?? 0)).toBeGreaterThan(1.9 * DAY_MS);
});

test.each(JUMPS_MS)('a request window is not stuck after a jump of %i ms, nor after the jump back', async (byMs) => {
  jump(0);
  const client = await customer({ organization: { requestsPerMinute: 2 } });
  for (const at of [0, byMs, 0]) {
    jump(at);
    const outcomes: string[] = [];
    // One minute may end in between.
    for (let sent = 0; sent < 6 && outcomes.at(-1) !== '429 rpm_exceeded'; sent++) {
      const received = await ask(client);
      outcomes.push(outcome(received));
      if (received.status !== 429) continue;
      const waitSeconds = Number(received.headers['retry-after']);
      expect(waitSeconds).toBeGreaterThanOrEqual(1);
      expect(waitSeconds).toBeLessThanOrEqual(60);
    }
    expect(outcomes.slice(0, 2)).toEqual(['200', '200']);
    expect(outcomes.at(-1)).toBe('429 rpm_exceeded');
  }
});

test('a key expires when the clock passes its date, and is valid again when the clock goes back', async () => {
  jump(0);
  const client = await customer({ key: { expiresAtMs: Date.now() + HOUR_MS / 2 } });
  const outcomes: string[] = [];
  for (const byMs of [0, HOUR_MS, 0, -DAY_MS]) {
    jump(byMs);
    outcomes.push(outcome(await ask(client)));
  }
  expect(outcomes).toEqual(['200', '401 key_expired', '200', '200']);
});

test("the daily budget of the clock's day applies, and what was spent on each day is kept", async () => {
  // Noon, so that no day ends in between.
  const noonMs = Math.floor(Date.now() / DAY_MS) * DAY_MS + 12 * HOUR_MS;
  const nanoUsd = 1_000n * 100n;
  const client = await customer({ organization: { dailyBudgetNanoUsd: nanoUsd } });
  // The budget suffices for one request: the response of `plan 1` costs 320 tokens, its hold is
  // 100.
  const outcomes: string[] = [];
  for (const byMs of [0, 0, DAY_MS, DAY_MS, 0, -DAY_MS]) {
    clock.set(noonMs + byMs);
    outcomes.push(outcome(await ask(client)));
  }
  const over = '429 daily_budget_exceeded';
  expect(outcomes).toEqual(['200', over, '200', over, over, '200']);
});

test("an Idempotency-Key is kept and freed by PostgreSQL's clock, so nothing is charged twice", async () => {
  jump(0);
  const client = await customer();
  const gate = createGate();
  gateway.provider.script('exact', gate.before(plannedAnswer));
  const first = ask(client, 'once');
  await gate.waitFor(1);
  jump(DAY_MS);
  expect(outcome(await ask(client, 'once'))).toBe('409 idempotency_key_in_flight');
  gate.open();
  const answer = await first;
  jump(-DAY_MS);
  const replayed = await ask(client, 'once');
  expect([replayed.text, replayed.headers['idempotent-replayed']]).toEqual([answer.text, 'true']);
  expect(gate.arrived()).toBe(1);
});

test('the doctor reports whose clock is wrong, and by how much', async () => {
  jump(HOUR_MS);
  const args = ['operator/main.ts', 'doctor', '--json'];
  const { stdout } = spawnSync(process.execPath, args, {
    cwd: REPOSITORY,
    env: {
      ...process.env,
      ...gateway.stack.env,
      NODE_OPTIONS: `--import=${join(REPOSITORY, 'test/harness/shifted-clock.ts')}`,
    },
    encoding: 'utf8',
    timeout: 40_000,
  });
  const { findings } = JSON.parse(stdout) as { findings: { check: string; verdict: string; found: string }[] };
  expect(findings.find(({ check }) => check === 'database clock')).toMatchObject({
    verdict: 'problem',
    found: "the clock of PostgreSQL is 3600 s behind this machine's",
  });
});
