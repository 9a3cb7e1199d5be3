import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { type SupervisedStack, startSupervisedStack } from '../../harness/stack.ts';
import { jsonAnswer } from '../../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';
import { createGate } from '../../provider/gate.ts';

let provider: FakeProvider;
let stack: SupervisedStack;
let client: GatewayClient;
/**
 * Two seconds; on a machine that is busy, what the whole start took there, of which coming back is
 * a part.
 */
let backWithinMs = 2_000;

beforeAll(async () => {
  provider = await startFakeProvider();
  const beganMs = performance.now();
  stack = await startSupervisedStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: { providers: { fake: { base_url: provider.baseUrl } }, models: { one: {}, held: {} } },
  });
  backWithinMs = Math.max(backWithinMs, performance.now() - beganMs);
  client = gatewayClient(stack.origin, (await stack.operator.customer()).key);
});

afterAll(async () => {
  client?.close();
  await stack?.close();
  await provider?.close();
});

showLogsOnFailure(() => stack);

/** The supervisor's child that runs this script or binary. */
function childOf(supervisorPid: number, part: string): number {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
      if (parent === supervisorPid && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(part)) return Number(name);
    } catch {
      // The process ended meanwhile.
    }
  }
  throw new Error(`the supervisor has no child ${part}`);
}

/**
 * Asks every few milliseconds; resolves with what came until the first success after a failure, and
 * how long that took.
 */
async function outcomesUntilServed(): Promise<{ outcomes: Set<string>; backAfterMs: number }> {
  const began = performance.now();
  const outcomes = new Set<string>();
  let failed = false;
  while (performance.now() - began < 15_000) {
    const result = outcome(await client.chat({ model: 'one' }));
    outcomes.add(result);
    if (result !== '200') failed = true;
    else if (failed) return { outcomes, backAfterMs: performance.now() - began };
    await sleep(5);
  }
  throw new Error(`not served again: ${[...outcomes]}`);
}

test('kill -9 of the gateway process: envelope errors, service back by itself within 2 s', async () => {
  const gate = createGate();
  provider.script('held', gate.before(jsonAnswer()));
  const inFlight = client.chat({ model: 'held' });
  await gate.waitFor(1);
  process.kill(childOf(stack.supervisorPid, 'ext-proc/main.ts'), 'SIGKILL');
  const { outcomes, backAfterMs } = await outcomesUntilServed();
  expect(outcomes).toEqual(new Set(['503 no_capacity', '200']));
  expect(backAfterMs).toBeLessThan(backWithinMs);
  expect(outcome(await inFlight)).toMatch(/^503 no_capacity|^500 internal_error/);
  gate.open();
  await stack.operator.verifyLedger();
});

test('kill -9 of Envoy: back by itself within 2 s', async () => {
  process.kill(childOf(stack.supervisorPid, 'envoy.yaml'), 'SIGKILL');
  const began = performance.now();
  let served = false;
  while (!served && performance.now() - began < 15_000) {
    await sleep(20);
    served = await client.chat({ model: 'one' }).then(
      (received) => received.status === 200,
      () => false,
    );
  }
  expect(served).toBe(true);
  expect(performance.now() - began).toBeLessThan(backWithinMs);
});
