import { createLanesOfCalls } from '#core/batching/joined-calls.ts';
import { MINUTE_MS } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import type { SharedStore } from '#database/limits-ownership/shared-store.ts';
import {
  type AdmissionRequest,
  type AdmissionResult,
  type FailedRenewal,
  type Hold,
  type HoldRelease,
  type LimitStore,
  quarantineMs,
  type ReadResult,
  type RefusedCount,
  type Renewal,
} from '../limit-store.ts';
import type { ReasoningStoreOptions } from '../reasoning/memory-reasoning-store.ts';
import type { ReasoningStore } from '../reasoning/reasoning-store.ts';
import type { SpoolMirror } from '../spool-mirror.ts';
import { takenAmount } from './amounts.ts';
import { type ConnectionOptions, connectRedis } from './connection.ts';
import {
  FENCED_OFF,
  type HoldRequest,
  type HoldResult,
  type HoldsReply,
  holdsCall,
  outcomesOf,
  REPLIED_AS_RELEASE,
} from './holds-call.ts';
import { createLossDetection, TOUCH_EVERY_MS } from './loss-detection.ts';
import { organizationKeys, readsKey, refusedKey, shardKeyOf, shardOf } from './redis-keys.ts';
import { createRedisReasoningStore } from './redis-reasoning-store.ts';
import { createSpoolMirror } from './redis-spool-mirror.ts';

export interface RedisLimitStoreOptions extends ConnectionOptions {
  /**
   * A hold that is not renewed for this long goes into quarantine. A shard that lost its data
   * admits nothing for as long.
   */
  readonly leaseMs: number;
  /**
   * `server`: minutes, days and leases are by the clock of Redis; `nowMs` only converts times to
   * the caller's clock. `caller`: all are by `nowMs`, for tests. A function: the clock of Redis as
   * a test sets it, Unix milliseconds.
   */
  readonly clock: 'server' | 'caller' | (() => number);
  readonly fences: ShardFences;
  /** Organizations and keys without holds are evicted after this long without a request. */
  readonly idleMs?: number;
}

export interface RedisLimitStore extends LimitStore, SharedStore {
  readonly spoolMirror: SpoolMirror;
  /** Keeps reasoning over the same connection. */
  keepReasoning(options: ReasoningStoreOptions): ReasoningStore;
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
}

const IDLE_MS = 600_000;
/** `timeouts.total` is at most an hour, and quarantine lasts a minute longer. */
const LONGEST_QUARANTINE_MS = 61 * MINUTE_MS;
/**
 * One call handles at most so many, so that it does not block Redis: 200 renewals take about 1 ms.
 */
const MOST_RENEWALS = 200;
/** 100 admissions take Redis about 1 ms. */
const HOLDS = { maxBatch: 100, maxInFlight: 1, paceMs: 0, maxWaiting: 20_000 };

/**
 * Keeps windows, slots and holds in Redis, shared by all gateway processes. The contract is that of
 * LimitStore; memory/memory-limit-store.ts implements the same rules in plain TypeScript.
 */
export async function createRedisLimitStore(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
  const { leaseMs, fences } = options;
  // Keys of holds never expire before their release. The store renews their expiry once a minute.
  const idleMs = (options.idleMs ?? IDLE_MS) + MINUTE_MS + leaseMs + LONGEST_QUARANTINE_MS;
  const connection = await connectRedis(options);
  const usesCallersClock = options.clock === 'caller';
  const serverClock = (): string => (typeof options.clock === 'function' ? `~${options.clock()}` : '');
  const clock = (nowMs: number): string => (usesCallersClock ? String(nowMs) : serverClock());
  const lossDetection = createLossDetection(connection, { ...options, clock: serverClock });

  const ask = createLanesOfCalls<HoldRequest, HoldResult>({
    store: 'Redis',
    bounds: HOLDS,
    runBatch: async (requests) => {
      const { keys, hasAdmissions, json, inOrder } = holdsCall(requests, fences);
      const revision = fences.revision();
      const nowMs = requests[0]?.facts.nowMs ?? 0;
      const args = [clock(nowMs), leaseMs, idleMs, hasAdmissions ? 1 : 0, json];
      const reply = (await connection.run('holds', keys, args)) as HoldsReply;
      refuseFormerMaster(revision);
      if (usesCallersClock && reply.includes('closed')) await lossDetection.fence(clock(nowMs));
      const { outcomes, anyClosed } = outcomesOf(inOrder, reply);
      if (anyClosed) touchShards();
      return outcomes;
    },
  });

  /** Names the lane of a request; requests of one lane can share a call. */
  function laneOf({ organizationId, nowMs }: AdmissionRequest | HoldRelease): string {
    return (connection.oneSlot ? shardKeyOf(organizationId) : '') + clock(nowMs);
  }

  /** Refuses the reply if a newer fence was read meanwhile: it may be that of a former master. */
  function refuseFormerMaster(revision: number): void {
    if (fences.revision() !== revision)
      throw new StoreUnavailable('the call of Redis began before a newer fence was known');
  }

  async function admit(request: AdmissionRequest): Promise<AdmissionResult> {
    const result = await ask(laneOf(request), { kind: 'admit', facts: request });
    if (result === undefined) throw new Error(REPLIED_AS_RELEASE);
    return result;
  }

  async function release(release: HoldRelease): Promise<void> {
    await ask(laneOf(release), { kind: 'release', facts: release });
  }

  async function renew(holds: readonly Hold[], nowMs: number): Promise<Renewal> {
    const takenBack: string[] = [];
    const exposed: string[] = [];
    const failed: FailedRenewal[] = [];
    const byOrganization = Map.groupBy(holds, (hold) => hold.organizationId);
    const calls = [...byOrganization].flatMap(([organizationId, all]) =>
      inBatches(all).map((batch) =>
        renewBatch(organizationId, batch, nowMs).then(
          ({ open, unknown }) => {
            takenBack.push(...unknown);
            if (open) exposed.push(...unknown);
          },
          (error: unknown) => void failed.push({ holdIds: batch.map(({ holdId }) => holdId), error }),
        ),
      ),
    );
    await Promise.all(calls);
    return { takenBack, exposed, failed };
  }

  async function renewBatch(organizationId: string, batch: readonly Hold[], nowMs: number) {
    const keys = organizationKeys(organizationId);
    const revision = fences.revision();
    const reply = await connection.run(
      'renew',
      [keys.shard, keys.organization, keys.holds, keys.leases, keys.quarantine],
      [
        ...[clock(nowMs), leaseMs, idleMs, keys.keyPrefix, organizationId, fences.of(shardOf(organizationId))],
        ...batch.flatMap((hold) => {
          const { holdId, keyId, day, holdNanoUsd, spooled } = hold;
          return [holdId, keyId, day, takenAmount(holdNanoUsd), quarantineMs(hold), spooled ? 1 : 0];
        }),
      ],
    );
    refuseFormerMaster(revision);
    const [open, ...unknown] = reply as [number, ...string[]];
    if (open < 0) throw new StoreUnavailable(FENCED_OFF);
    if (open === 0 && usesCallersClock) await lossDetection.fence(clock(nowMs));
    return { open: open === 1, unknown };
  }

  async function heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd> {
    const keys = organizationKeys(organizationId);
    const amount = await connection.run(
      'held',
      [keys.shard, keys.organization, keys.holds, keys.leases, keys.quarantine],
      [clock(nowMs), leaseMs, idleMs, keys.keyPrefix],
    );
    return BigInt(String(amount));
  }

  async function takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult> {
    const reply = await connection.run('takeRead', [readsKey(keyId)], [clock(nowMs), readsPerMinute]);
    const [allowed, serverNowMs, minute] = reply as [number, number, number];
    if (allowed === 1) return { allowed: true };
    return { allowed: false, resetsAtMs: (minute + 1) * MINUTE_MS + nowMs - serverNowMs };
  }

  async function countRefused(id: string, requests: number, nowMs: number): Promise<RefusedCount> {
    const reply = await connection.run('countRefused', [refusedKey(id)], [clock(nowMs), requests]);
    const [refused, serverNowMs, minute] = reply as [number, number, number];
    return { refused, resetsAtMs: (minute + 1) * MINUTE_MS + nowMs - serverNowMs };
  }

  /** Only with the real clock: times of a test would begin incarnations. */
  function touchShards(): void {
    if (options.clock === 'server') lossDetection.touchAll();
  }
  const timer = setInterval(touchShards, TOUCH_EVERY_MS);
  timer.unref();

  return {
    admit,
    release,
    renew,
    heldNanoUsd,
    takeRead,
    countRefused,
    ...lossDetection,
    spoolMirror: createSpoolMirror(connection),
    keepReasoning: (settings) => createRedisReasoningStore(connection, settings),
    async close() {
      clearInterval(timer);
      await connection.close();
    },
  };
}

function inBatches(holds: readonly Hold[]): Hold[][] {
  const batches: Hold[][] = [];
  for (let from = 0; from < holds.length; from += MOST_RENEWALS) batches.push(holds.slice(from, from + MOST_RENEWALS));
  return batches;
}
