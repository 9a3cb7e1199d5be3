import { createLanesOfCalls, type Outcome } from '#core/batching/joined-calls.ts';
import { MINUTE_MS } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import type { ChargeMirror } from '../charge-mirror.ts';
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
import { takenAmount } from './amounts.ts';
import { type ConnectionOptions, connectRedis, evictingMasters } from './connection.ts';
import {
  FENCED_OFF,
  type HoldRequest,
  type HoldResult,
  type HoldsReply,
  holdsCall,
  outcomesOf,
  REPLIED_AS_RELEASE,
} from './holds-call.ts';
import { LossDetection, TOUCH_EVERY_MS } from './loss-detection.ts';
import { createChargeMirror } from './redis-charge-mirror.ts';
import { organizationKeys, readsKey, refusedKey, shardKeyOf, shardOf } from './redis-keys.ts';
import { createRedisReasoningStore } from './redis-reasoning-store.ts';
import type { ScriptCalls } from './script-calls.ts';

export interface RedisLimitStoreOptions extends ConnectionOptions {
  /** An unrenewed hold is quarantined after this; a shard that lost data is closed for as long. */
  readonly leaseMs: number;
  /**
   * `server`: minutes, days and leases use the clock of Redis, and `nowMs` only converts times to
   * the caller's clock. `caller`: all use `nowMs`, for tests. A function: the clock of Redis as a
   * test sets it, in Unix milliseconds.
   */
  readonly clock: 'server' | 'caller' | (() => number);
  readonly fences: ShardFences;
  /** Organizations and keys without holds are evicted after this long without a request. */
  readonly idleMs?: number;
}

const IDLE_MS = 600_000;
/** `timeouts.total` is at most an hour, and quarantine lasts a minute longer. */
const LONGEST_QUARANTINE_MS = 61 * MINUTE_MS;
/** Most renewals of one call, so that Redis is not blocked: 200 take it about 1 ms. */
const MOST_RENEWALS = 200;
/** 100 admissions take Redis about 1 ms. */
const HOLDS = { maxBatch: 100, maxInFlight: 1, paceMs: 0, maxWaiting: 20_000 };

/** Rejects like connectRedis(). */
export async function createRedisLimitStore(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
  return new RedisLimitStore(await connectRedis(options), options);
}

/**
 * Keeps windows, slots and holds in Redis, shared by all gateway processes. The contract is that of
 * LimitStore. memory/memory-limit-store.ts implements the same rules in plain TypeScript.
 */
export class RedisLimitStore implements LimitStore {
  readonly chargeMirror: ChargeMirror;
  readonly lossDetection: LossDetection;
  readonly #connection: ScriptCalls;
  readonly #clock: RedisLimitStoreOptions['clock'];
  readonly #leaseMs: number;
  readonly #idleMs: number;
  readonly #fences: ShardFences;
  readonly #timer: NodeJS.Timeout;
  /** Admissions and releases of one lane share calls. */
  readonly #ask = createLanesOfCalls<HoldRequest, HoldResult>({
    store: 'Redis',
    bounds: HOLDS,
    // Another process may admit the client's next request, which must find the slot free. Releases
    // that were sent at the end of the turn came too late for 1 to 7 of 100 requests in a row. This
    // process may admit it too: in the same lane, the admission follows the release.
    isUrgent: ({ kind }) => kind === 'release',
    runBatch: (requests) => this.#runHolds(requests),
  });

  constructor(connection: ScriptCalls, options: RedisLimitStoreOptions) {
    const { leaseMs, fences, log, idleMs = IDLE_MS } = options;
    this.chargeMirror = createChargeMirror(connection);
    this.#connection = connection;
    this.#clock = options.clock;
    this.#leaseMs = leaseMs;
    // Keys of holds never expire before their release. The store renews their expiry once a minute.
    this.#idleMs = idleMs + MINUTE_MS + leaseMs + LONGEST_QUARANTINE_MS;
    this.#fences = fences;
    this.lossDetection = new LossDetection(connection, {
      ...{ leaseMs, fences, log, clock: () => this.#serverClock() },
      evictingMasters: () => evictingMasters(options),
    });
    this.#timer = setInterval(() => this.#touchShards(), TOUCH_EVERY_MS).unref();
  }

  async admit(request: AdmissionRequest): Promise<AdmissionResult> {
    const result = await this.#ask(this.#laneOf(request), { kind: 'admit', facts: request });
    if (result === undefined) throw new Error(REPLIED_AS_RELEASE);
    return result;
  }

  async release(release: HoldRelease): Promise<void> {
    await this.#ask(this.#laneOf(release), { kind: 'release', facts: release });
  }

  /** Names the lane of a request. Requests of one lane can share a call. */
  #laneOf({ organizationId, nowMs }: AdmissionRequest | HoldRelease): string {
    return (this.#connection.oneSlot ? shardKeyOf(organizationId) : '') + this.#clockAt(nowMs);
  }

  async #runHolds(requests: readonly HoldRequest[]): Promise<readonly Outcome<HoldResult>[]> {
    const { keys, hasAdmissions, json, inOrder } = holdsCall(requests, this.#fences);
    const revision = this.#fences.revision();
    const clock = this.#clockAt(requests[0]?.facts.nowMs ?? 0);
    const args = [clock, this.#leaseMs, this.#idleMs, hasAdmissions ? 1 : 0, json];
    const reply = (await this.#connection.run('holds', keys, args)) as HoldsReply;
    this.#refuseFormerMaster(revision);
    if (this.#clock === 'caller' && reply.includes('closed')) await this.lossDetection.fence(clock);
    const { outcomes, anyClosed } = outcomesOf(inOrder, reply);
    if (anyClosed) this.#touchShards();
    return outcomes;
  }

  async renew(holds: readonly Hold[], nowMs: number): Promise<Renewal> {
    const takenBack: string[] = [];
    const exposed: string[] = [];
    const failed: FailedRenewal[] = [];
    const renewed = batchesOf(holds).map((batch) =>
      this.#renewBatch(batch, nowMs).then(
        ({ open, unknown }) => {
          takenBack.push(...unknown);
          if (open) exposed.push(...unknown);
        },
        (error: unknown) => void failed.push({ holdIds: batch.holds.map(({ holdId }) => holdId), error }),
      ),
    );
    await Promise.all(renewed);
    return { takenBack, exposed, failed };
  }

  async #renewBatch({ organizationId, holds }: RenewalBatch, nowMs: number) {
    const keys = organizationKeys(organizationId);
    const revision = this.#fences.revision();
    const clock = this.#clockAt(nowMs);
    const fence = this.#fences.of(shardOf(organizationId));
    const reply = await this.#connection.run(
      'renew',
      [keys.shard, keys.organization, keys.holds, keys.leases, keys.quarantine],
      [
        ...[clock, this.#leaseMs, this.#idleMs, keys.keyPrefix, organizationId, fence],
        ...holds.flatMap((hold) => {
          const { holdId, keyId, day, holdNanoUsd, owedNanoUsd } = hold;
          const amount = takenAmount(owedNanoUsd ?? holdNanoUsd);
          return [holdId, keyId, day, amount, quarantineMs(hold), owedNanoUsd === undefined ? '' : 'o'];
        }),
      ],
    );
    this.#refuseFormerMaster(revision);
    const [open, ...unknown] = reply as [number, ...string[]];
    if (open < 0) throw new StoreUnavailable(FENCED_OFF);
    if (open === 0 && this.#clock === 'caller') await this.lossDetection.fence(clock);
    return { open: open === 1, unknown };
  }

  /** Refuses the reply if a newer fence was read meanwhile: it may be that of a former master. */
  #refuseFormerMaster(revision: number): void {
    if (this.#fences.revision() !== revision)
      throw new StoreUnavailable('the call of Redis began before a newer fence was known');
  }

  async heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd> {
    const keys = organizationKeys(organizationId);
    const amount = await this.#connection.run(
      'held',
      [keys.shard, keys.organization, keys.holds, keys.leases, keys.quarantine],
      [this.#clockAt(nowMs), this.#leaseMs, this.#idleMs, keys.keyPrefix],
    );
    return BigInt(String(amount));
  }

  async takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult> {
    const { isCounted, resetsAtMs } = await this.#count(readsKey(keyId), 1, nowMs, readsPerMinute);
    return isCounted ? { allowed: true } : { allowed: false, resetsAtMs };
  }

  async countRefused(id: string, requests: number, nowMs: number): Promise<RefusedCount> {
    const { count, resetsAtMs } = await this.#count(refusedKey(id), requests, nowMs, '');
    return { refused: count, resetsAtMs };
  }

  async #count(key: string, requests: number, nowMs: number, most: number | '') {
    const reply = await this.#connection.run('count', [key], [this.#clockAt(nowMs), requests, most]);
    const [isCounted, count, serverNowMs, minute] = reply as [number, number, number, number];
    return { isCounted: isCounted === 1, count, resetsAtMs: (minute + 1) * MINUTE_MS + nowMs - serverNowMs };
  }

  /** Keeps reasoning over the same connection. */
  keepReasoning(options: ReasoningStoreOptions): ReasoningStore {
    return createRedisReasoningStore(this.#connection, options);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#connection.close();
  }

  /** Only with the real clock: times of a test would begin incarnations. */
  #touchShards(): void {
    if (this.#clock === 'server') this.lossDetection.touchAll();
  }

  /** Clock of a call, as in ARGV of the scripts. */
  #clockAt(nowMs: number): string {
    return this.#clock === 'caller' ? String(nowMs) : this.#serverClock();
  }

  #serverClock(): string {
    return typeof this.#clock === 'function' ? `~${this.#clock()}` : '';
  }
}

interface RenewalBatch {
  readonly organizationId: string;
  readonly holds: readonly Hold[];
}

function batchesOf(holds: readonly Hold[]): RenewalBatch[] {
  const batches: RenewalBatch[] = [];
  for (const [organizationId, all] of Map.groupBy(holds, (hold) => hold.organizationId)) {
    for (let from = 0; from < all.length; from += MOST_RENEWALS)
      batches.push({ organizationId, holds: all.slice(from, from + MOST_RENEWALS) });
  }
  return batches;
}
