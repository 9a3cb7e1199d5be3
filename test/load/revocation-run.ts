import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Customer } from '../harness/operator.ts';
import { startTestRedis } from '../harness/redis-server.ts';
import { type SupervisedStack, startSupervisedStack } from '../harness/stack.ts';
import { supervisedChildren } from '../harness/supervised-children.ts';
import { startFakeProvider } from '../provider/fake-provider.ts';
import { type KeyChanges, keyChanges } from './revocation-changes.ts';
import type { Asked, Phase } from './revocation-verdict.ts';

export interface RevocationOptions {
  readonly postgresSocketDir: string;
  /** Number of changes after which a key is refused. Each is undone before the next. */
  readonly changes: number;
  readonly requestsPerSecond: number;
  readonly freezeEveryMs: number;
}

export interface RevocationRun {
  readonly asked: readonly Asked[];
  readonly phases: readonly Phase[];
  /** Duration of each command in milliseconds. */
  readonly changeMs: readonly number[];
  readonly freezes: number;
}

/** Customers that are changed concurrently, because a change may take 300 ms. */
const CUSTOMERS = 16;
/**
 * Requests sent right after each change, so that some reach each process before it has read the
 * change.
 */
const ASKED_AT_ONCE = 3;
const FROZEN_MS = 3_000;

/**
 * Revokes, suspends and limits keys in turn while requests use them through two processes with
 * Redis. Now and then one process is suspended.
 */
export async function runRevocations(options: RevocationOptions): Promise<RevocationRun> {
  const redis = await startTestRedis();
  const provider = await startFakeProvider({ record: false });
  const stack = await startSupervisedStack({
    postgresSocketDir: options.postgresSocketDir,
    config: { redis: redis.url, workers: 2, providers: { fake: { base_url: provider.baseUrl } }, models: { any: {} } },
  });
  const client = gatewayClient(stack.origin, '');
  const load = startAsking(client, options.requestsPerSecond);
  const ended = new AbortController();
  const freezing = freezeByTurns(stack, options.freezeEveryMs, ended.signal);
  try {
    const changing = createChanging(keyChanges(stack.operator), load, options.changes);
    await Promise.all(Array.from({ length: CUSTOMERS }, async () => changing.one(await customerOf(stack))));
    ended.abort();
    const freezes = await freezing;
    return { asked: await load.stop(), phases: changing.phases, changeMs: changing.changeMs, freezes };
  } finally {
    ended.abort();
    await freezing;
    await load.stop();
    client.close();
    await stack.close();
    await provider.close();
    await redis.stop();
  }
}

function customerOf({ operator }: SupervisedStack): Promise<Customer> {
  return operator.customer({ credit: '1000', organization: { concurrency: 10_000 } });
}

interface Load {
  /** Keys that the steady load uses in turn. */
  readonly keys: Map<string, string>;
  ask(key: string): Promise<void>;
  /** Resolves when all have ended. */
  stop(): Promise<readonly Asked[]>;
}

function startAsking(client: GatewayClient, requestsPerSecond: number): Load {
  const asked: Asked[] = [];
  const underWay = new Set<Promise<void>>();
  const keys = new Map<string, string>();
  const began = performance.now();
  let count = 0;
  const send = async (key: string): Promise<void> => {
    const beganMs = performance.now();
    const headers = { authorization: `Bearer ${key}` };
    const result = await client
      .chat({ model: 'any', max_tokens: 5 }, { headers })
      .then(outcome, (error: Error) => error.message);
    asked.push({ key, beganMs, endedMs: performance.now(), outcome: result });
  };
  const ask = (key: string): Promise<void> => {
    count++;
    const one = send(key);
    underWay.add(one);
    return one.finally(() => underWay.delete(one));
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - began) * requestsPerSecond) / 1000;
    for (const [customer, key] of [...keys].slice(0, Math.max(0, due - count))) {
      void ask(key);
      // Moves the key to the end of the map.
      keys.delete(customer);
      keys.set(customer, key);
    }
  }, 5);
  return {
    keys,
    ask,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return asked;
    },
  };
}

function createChanging(kinds: readonly KeyChanges[], { keys, ask }: Load, changes: number) {
  const phases: Phase[] = [];
  const changeMs: number[] = [];
  let begun = 0;
  /** Runs a command and notes when it returned. */
  const command = async <T>(act: () => Promise<T>): Promise<{ readonly result: T; readonly fromMs: number }> => {
    const began = performance.now();
    const result = await act();
    const fromMs = performance.now();
    changeMs.push(fromMs - began);
    return { result, fromMs };
  };
  const atOnce = (key: string) => Promise.all(Array.from({ length: ASKED_AT_ONCE }, () => ask(key)));
  const one = async (customer: Customer): Promise<void> => {
    let current = customer;
    keys.set(customer.organizationId, current.key);
    while (begun < changes) {
      const kind = kinds[begun++ % kinds.length];
      if (kind === undefined) throw new Error('there are kinds of changes');
      const { key } = current;
      const refused = await command(() => kind.refuse(current));
      await atOnce(key);
      const untilMs = kind.name === 'revocation' ? Number.POSITIVE_INFINITY : performance.now();
      phases.push({ key, change: kind.name, fromMs: refused.fromMs, untilMs, stale: '200' });
      const restored = await command(() => kind.restore(current));
      current = { ...current, ...restored.result };
      keys.set(customer.organizationId, current.key);
      await atOnce(current.key);
      const stale = kind.name === 'revocation' ? '401 invalid_api_key' : kind.refused;
      phases.push({
        key: current.key,
        change: `end of ${kind.name}`,
        fromMs: restored.fromMs,
        untilMs: performance.now(),
        stale,
      });
    }
    keys.delete(customer.organizationId);
  };
  return { phases, changeMs, one };
}

/** Suspends the processes in turn for 3 s each. Resolves with the number of times. */
async function freezeByTurns({ supervisorPid }: SupervisedStack, everyMs: number, until: AbortSignal): Promise<number> {
  let freezes = 0;
  while (!until.aborted) {
    await sleep(everyMs, undefined, { signal: until }).catch(() => {});
    const victim = supervisedChildren(supervisorPid, 'ext-proc/main.ts').sort((a, b) => a - b)[freezes % 2];
    if (until.aborted || victim === undefined) break;
    process.kill(victim, 'SIGSTOP');
    freezes++;
    await sleep(FROZEN_MS, undefined, { signal: until }).catch(() => {});
    process.kill(victim, 'SIGCONT');
  }
  return freezes;
}
