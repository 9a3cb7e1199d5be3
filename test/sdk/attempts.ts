import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gatewayClient } from '../harness/gateway-client.ts';
import type { Customer } from '../harness/operator.ts';
import type { Stack } from '../harness/stack.ts';
import { jsonAnswer, stall, streamThen } from '../provider/acts.ts';
import type { FakeProvider } from '../provider/fake-provider.ts';
import { createGate } from '../provider/gate.ts';
import { type Attempt, type CountingProxy, startCountingProxy } from './counting-proxy.ts';
import type { SdkCall, SdkClient, SdkResult } from './sdk-client.ts';
import { SDKS, type Sdk } from './sdks.ts';

export interface AttemptsFixture {
  readonly provider: FakeProvider;
  readonly stack: Stack;
  readonly customer: Customer;
  /** A customer whose balance covers no request. */
  readonly poor: Customer;
}

interface Probe extends Sdk {
  readonly client: SdkClient;
  readonly proxy: CountingProxy;
}

interface Outcome {
  readonly name: string;
  readonly result: SdkResult;
  readonly attempts: readonly Attempt[];
}

const messages = [{ role: 'user' as const, content: 'Hello' }];

/**
 * Each library has its own model, because they run concurrently and the model selects the
 * provider's script.
 */
export function heldModel({ name }: Pick<Sdk, 'name'>): string {
  return `held-${name}`;
}

/**
 * Counts the attempts that a library makes by itself, of which its caller sees only the last. All
 * libraries run concurrently, because they wait between attempts.
 */
export function describeAttempts(fixture: () => AttemptsFixture): void {
  describe('attempts', () => {
    let probes: readonly Probe[] = [];

    beforeAll(async () => {
      const { stack, customer } = fixture();
      probes = await Promise.all(
        SDKS.filter(({ missing }) => missing === undefined).map(async (sdk) => {
          const proxy = await startCountingProxy(stack.origin);
          return { ...sdk, proxy, client: sdk.open(`${proxy.origin}/v1`, customer.key) };
        }),
      );
    });

    afterAll(async () => {
      await Promise.all(probes.map(({ client }) => client.close()));
      await Promise.all(probes.map(({ proxy }) => proxy.close()));
    });

    const onEach = (callOf: (probe: Probe) => Promise<SdkCall> | SdkCall): Promise<Outcome[]> =>
      Promise.all(
        probes.map(async (probe) => {
          probe.proxy.take();
          const call = await callOf(probe);
          const result = await probe.client.call({ messages, ...call });
          return { name: probe.name, result, attempts: probe.proxy.take() };
        }),
      );

    test('a 402 is not retried', async () => {
      const { poor } = fixture();
      for (const { result, attempts } of await onEach(() => ({ model: 'chat', api_key: poor.key, max_retries: 2 }))) {
        expect(result).toMatchObject({ status: 402, code: 'insufficient_credits' });
        expect(attempts).toHaveLength(1);
      }
    });

    test('a 429 without a free slot is retried after its retry-after, and served', async () => {
      const { provider, stack } = fixture();
      const outcomes = await onEach(async (probe) => {
        const { key } = await stack.operator.customer({ organization: { concurrency: 1 } });
        const gate = createGate();
        provider.script(heldModel(probe), gate.before(jsonAnswer()));
        const holder = gatewayClient(stack.origin, key);
        const held = holder.chat({ model: heldModel(probe) }).finally(holder.close);
        held.catch(() => {}); // If it fails, the slot stays taken, and the call below fails.
        await gate.waitFor(1);
        probe.proxy.onAttempt(({ status }) => status === 429 && gate.open());
        return { model: 'chat', api_key: key, max_retries: 2 };
      });
      for (const { name, result, attempts } of outcomes) {
        expect(result, name).toMatchObject({ text: 'Hello from the provider.' });
        expect(statuses(attempts), name).toEqual([429, 200]);
        expect(attempts[0]?.headers['retry-after']).toBe('1');
        expect(secondsBetween(attempts), name).toBeGreaterThanOrEqual(0.95);
      }
    });

    /** LangChain does not retry a 409: its caller sees that the first attempt is still running. */
    test('a 409 is retried until the first attempt has its response, which is then replayed', async () => {
      const { provider, stack, customer } = fixture();
      const firsts = new Map<string, Promise<SdkResult>>();
      const asked = (name: string): number => provider.requests(heldModel({ name })).length;
      const askedBefore = new Map(probes.map(({ name }) => [name, asked(name)]));
      const outcomes = await onEach(async (probe) => {
        const gate = createGate();
        provider.script(heldModel(probe), gate.before(jsonAnswer()));
        const call = { messages, model: heldModel(probe), headers: { 'Idempotency-Key': `same-${probe.name}` } };
        // The bodies must be identical to the byte, so the same library makes the first attempt.
        const other = probe.open(`${stack.origin}/v1`, customer.key);
        const first = other.call(call).finally(other.close);
        first.catch(() => {}); // Awaited below, after the checks while it runs.
        firsts.set(probe.name, first);
        await gate.waitFor(1);
        probe.proxy.onAttempt(({ status }) => status === 409 && gate.open());
        return { ...call, max_retries: 2 };
      });
      for (const { name, result, attempts } of outcomes) {
        const first = await firsts.get(name);
        expect(first, name).toMatchObject({ text: 'Hello from the provider.' });
        expect(asked(name) - (askedBefore.get(name) ?? 0), name).toBe(1);
        expect(Number(attempts[0]?.headers['retry-after-ms']), name).toBeGreaterThan(0);
        if (name === '@langchain/openai') {
          expect(statuses(attempts)).toEqual([409]);
          expect(result).toMatchObject({ status: 409, code: 'idempotency_key_in_flight', param: 'Idempotency-Key' });
        } else {
          expect(statuses(attempts), name).toEqual([409, 200]);
          expect(attempts.at(-1)?.headers['idempotent-replayed'], name).toBe('true');
          expect(result, name).toEqual(first);
        }
      }
    });

    /**
     * The AI SDK does not know `x-should-retry`. It retries with its own back-off and soon gives
     * up.
     */
    test('a 429 for the daily budget is retried only by the AI SDK, and no library waits until midnight', async () => {
      await untilClearOfMidnight();
      const { stack } = fixture();
      const { key } = await stack.operator.customer({ key: { dailyBudgetNanoUsd: 1n } });
      const outcomes = await onEach(() => ({ model: 'chat', api_key: key, max_retries: 1 }));
      expect(Object.fromEntries(outcomes.map(({ name, attempts }) => [name, attempts.length]))).toEqual(
        Object.fromEntries(probes.map(({ name, givesUpForTheDay }) => [name, givesUpForTheDay ? 1 : 2])),
      );
      for (const { name, result, attempts } of outcomes) {
        expect(result, name).toMatchObject({ status: 429, code: 'daily_budget_exceeded' });
        expect(attempts[0]?.headers['x-should-retry']).toBe('false');
        expect(secondsBetween(attempts), name).toBeLessThan(10);
      }
    }, 90_000);

    test('a stream that stalls is reported as an error after its text, and not retried', async () => {
      fixture().provider.script('broken', streamThen(3, stall));
      const outcomes = await onEach(() => ({ model: 'broken', stream: true, max_retries: 2 }));
      for (const { name, result, attempts } of outcomes) {
        expect(result, name).toMatchObject({ text: 'Hello from', code: 'request_timeout', type: 'timeout_error' });
        expect(statuses(attempts), name).toEqual([200]);
      }
    });
  });
}

function statuses(attempts: readonly Attempt[]): number[] {
  return attempts.map(({ status }) => status);
}

function secondsBetween(attempts: readonly Attempt[]): number {
  const [first, last] = [attempts.at(0), attempts.at(-1)];
  return first && last ? (last.atMs - first.atMs) / 1000 : Number.NaN;
}

const DAY_MS = 86_400_000;
const LONGEST_OBEYED_MS = 60_000;

/**
 * Waits for midnight if it is near: in the last minute of a day retry-after is so short that every
 * library obeys it.
 */
async function untilClearOfMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs <= LONGEST_OBEYED_MS + 5000) await sleep(leftMs);
}
