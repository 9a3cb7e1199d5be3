import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { leastOf } from '../../fixtures/least-of.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { opened } from '../../harness/opened.ts';
import { type SupervisedStack, startSupervisedStack } from '../../harness/stack.ts';
import { supervisedChildren } from '../../harness/supervised-children.ts';
import { jsonAnswer } from '../../provider/acts.ts';
import { startFakeProvider } from '../../provider/fake-provider.ts';
import { createGate } from '../../provider/gate.ts';

const provider = opened(startFakeProvider);
let stack: SupervisedStack;
let client: GatewayClient;
/**
 * Two seconds, or on a busy machine the time of the whole first start, of which a restart is only
 * a part.
 */
let backWithinMs = 2_000;

beforeAll(async () => {
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
});

showLogsOnFailure(() => stack);

const MOST_KILLS = 4;

/** Kills the supervisor's child that runs this script or binary. Resolves when it has ended. */
async function kill(part: string): Promise<void> {
  const [victim] = supervisedChildren(stack.supervisorPid, part);
  if (victim === undefined) throw new Error(`the supervisor has no child ${part}`);
  process.kill(victim, 'SIGKILL');
  while (supervisedChildren(stack.supervisorPid, part).includes(victim)) await sleep(5);
}

/**
 * Kills a process and sends a request every few milliseconds until the first success after a
 * failure. Resolves with the outcomes, `undefined` for no response, and the time that it took.
 */
async function killed(part: string): Promise<{ outcomes: Set<string | undefined>; backAfterMs: number }> {
  const began = performance.now();
  await kill(part);
  const outcomes = new Set<string | undefined>();
  while (performance.now() - began < PATIENCE_MS) {
    const result = await client.chat({ model: 'one' }).then(outcome, () => undefined);
    outcomes.add(result);
    if (result === '200' && outcomes.size > 1) return { outcomes, backAfterMs: performance.now() - began };
    await sleep(5);
  }
  throw new Error(`not served again: ${[...outcomes]}`);
}

test('after kill -9 of the gateway process, requests get API errors and are served again within 2 s', async () => {
  const gate = createGate();
  provider.script('held', gate.before(jsonAnswer()));
  const inFlight = client.chat({ model: 'held' });
  await gate.waitFor(1);
  const backMs = async () => {
    const { outcomes, backAfterMs } = await killed('ext-proc/main.ts');
    expect(outcomes).toEqual(new Set(['503 no_capacity', '200']));
    return backAfterMs;
  };
  expect(await leastOf(backWithinMs, MOST_KILLS, backMs)).toBeLessThan(backWithinMs);
  expect(outcome(await inFlight)).toMatch(/^503 no_capacity|^500 internal_error/);
  gate.open();
  await stack.operator.verifyLedger();
});

test('after kill -9 of Envoy, requests are served again within 2 s', async () => {
  const backMs = async () => (await killed('envoy.yaml')).backAfterMs;
  expect(await leastOf(backWithinMs, MOST_KILLS, backMs)).toBeLessThan(backWithinMs);
});
