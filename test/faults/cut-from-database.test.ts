import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { gatewayClient, jsonOf, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import { missingRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { jsonAnswer } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';
import { withTwoPods } from './gateway-pod.ts';

/**
 * Longer than the lease of an Idempotency-Key, but shorter than the time after which a process
 * considers its database lost.
 */
const CUT_MS = 20_000;
const KEYS = Array.from({ length: 12 }, (_, n) => `key-${n}`);
/** Cost of 10 tokens at 1 USD per million. */
const COST = 0.00001;

/**
 * Two processes share PostgreSQL and Redis. The connection of one process to PostgreSQL is cut for
 * a while.
 */
requirement(missingRedis, () => {
  const two = withTwoPods({
    config: { models: { m: { usd_per_million_tokens: { input: 0, output: 1 } } } },
    hasRelay: true,
  });

  test('no Idempotency-Key has two responses, and each response is charged soon and once', async () => {
    const { provider, way } = two;
    const [other, cutOff] = two.pods;
    const { operator } = other;
    const { organizationId, key } = await operator.customer({ credit: '1' });
    const [first, second] = [gatewayClient(cutOff.origin, key), gatewayClient(other.origin, key)];
    let answered = 0;
    const gate = createGate();
    const usage = { prompt_tokens: 1, completion_tokens: 10 };
    provider.script(
      'm',
      gate.before((call) => jsonAnswer({ text: `answer ${answered++}`, usage })(call)),
    );
    const answers = new Map(KEYS.map((name) => [name, new Set<string>()]));
    const ask = async (client: typeof first, name: string): Promise<string> => {
      const received = await client.chat({ model: 'm', max_tokens: 100 }, { headers: { 'idempotency-key': name } });
      if (received.status === 200)
        answers
          .get(name)
          ?.add(jsonOf<{ choices: { message: { content: string } }[] }>(received).choices[0]?.message.content ?? '');
      return outcome(received);
    };
    const given = Promise.all(KEYS.map((name) => ask(first, name)));
    await gate.waitFor(KEYS.length);
    way.cut();
    const cutAtMs = performance.now();
    gate.open();
    const outcomes = await given;
    expect(new Set(outcomes)).toEqual(new Set(['200']));

    // The other process ships the charges that the first one cannot ship.
    await expect.poll(() => operator.balance(organizationId)).toBeCloseTo(1 - KEYS.length * COST, 9);
    const meanwhile = new Set<string>();
    while (performance.now() < cutAtMs + CUT_MS) {
      for (const one of await Promise.all(KEYS.map((name) => ask(second, name)))) meanwhile.add(one);
      await sleep(500);
    }
    expect(meanwhile).toEqual(new Set(['409 idempotency_key_in_flight']));
    // Holds end although the first process has renewed them several times since.
    await untilNothingHeld(second);
    way.mend();
    await expect
      .poll(async () => new Set(await Promise.all(KEYS.map((name) => ask(second, name)))), { timeout: 30_000 })
      .toEqual(new Set(['200']));
    expect([...answers.values()].map(({ size }) => size)).toEqual(KEYS.map(() => 1));
    expect(answered).toBe(KEYS.length);
    await untilNothingHeld(second);
    expect(await operator.balance(organizationId)).toBeCloseTo(1 - KEYS.length * COST, 9);
    await operator.verifyLedger();
  });

  test('charges in the log of a process that dies with its volume are not lost, and its holds end', async () => {
    const { provider, way } = two;
    const [other, cutOff] = two.pods;
    const { operator } = other;
    // Waits until the process has reconnected.
    await untilSettled(cutOff, PATIENCE_MS);
    const { organizationId, key } = await operator.customer({ credit: '1' });
    const [first, second] = [gatewayClient(cutOff.origin, key), gatewayClient(other.origin, key)];
    const gate = createGate();
    provider.script('m', gate.before(jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 10 } })));
    const given = Promise.all(KEYS.map(() => first.chat({ model: 'm', max_tokens: 100 }).then(outcome)));
    await gate.waitFor(KEYS.length);
    way.cut();
    gate.open();
    expect(new Set(await given)).toEqual(new Set(['200']));
    // A charge is copied to the mirror after it has waited for a second.
    await expect.poll(() => operator.balance(organizationId)).toBeCloseTo(1 - KEYS.length * COST, 9);
    for (const pid of cutOff.workerPids()) process.kill(pid, 'SIGKILL');
    rmSync(join(cutOff.paths.dataDir, 'spool'), { recursive: true });
    await untilNothingHeld(second);
    way.mend();
    await cutOff.restartWorker(0, 'SIGKILL');
    expect(await operator.balance(organizationId)).toBeCloseTo(1 - KEYS.length * COST, 9);
    await operator.verifyLedger();
  });
});
