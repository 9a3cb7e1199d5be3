import { createLanesOfCalls } from '../../../core/batching/joined-calls.ts';
import { MINUTE_MS } from '../../../core/clock.ts';
import type { NanoUsd } from '../../../core/money.ts';
import { StoreUnavailable } from '../../../core/store-unavailable.ts';
import type { ShardFences } from '../../../database/limits-ownership/shard-fences.ts';
import type { SharedStore } from '../../../database/limits-ownership/shared-store.ts';
import type { SpoolMirror } from '../../billing/spool/spool-mirror.ts';
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
import { takenAmount } from './amounts.ts';
import { type ConnectionOptions, connectRedis } from './connection.ts';
import {
  ANSWERED_AS_RELEASE,
  FENCED_OFF,
  type HoldRequest,
  type HoldResult,
  type HoldsReply,
  holdsCall,
  outcomesOf,
} from './holds-call.ts';
import { createMarkers, TOUCH_EVERY_MS } from './markers.ts';
import { organizationKeys, readsKey, refusedKey, shardKeyOf, shardOf } from './shards.ts';
import { createSpoolMirror } from './spool-mirror.ts';

export interface RedisLimitStoreOptions extends ConnectionOptions {
  /**
   * A hold that is not renewed for this long goes into quarantine; a store that forgot admits
   * nothing for as long.
   */
  readonly leaseMs: number;
  /**
   * `server`: minutes, days and leases are by the clock of Redis, one for all processes, and
   * `nowMs` is only the caller's clock at that moment. `caller`: by `nowMs`, for tests. A function:
   * the clock of Redis as a test sets it, Unix milliseconds.
   */
  readonly clock: 'server' | 'caller' | (() => number);
  readonly fences: ShardFences;
  /** Organizations and keys that hold nothing are forgotten after this long without a request. */
  readonly idleMs?: number;
}

export interface RedisLimitStore extends LimitStore, SharedStore {
  readonly spoolMirror: SpoolMirror;
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
}

const IDLE_MS = 600_000;
/** `timeouts.total` is an hour at most: for so long and a minute money may be in quarantine. */
const LONGEST_QUARANTINE_MS = 61 * MINUTE_MS;
/** One call must not keep Redis from the others: 200 renewals take it about a millisecond. */
const MOST_RENEWALS = 200;
/** 100 admissions take Redis about a millisecond. */
const HOLDS = { maxBatch: 100, maxInFlight: 1, paceMs: 0, maxWaiting: 20_000 };

/**
 * Windows, slots and holds in Redis, shared by every gateway process. The promises are the
 * interface's; memory/limit-store.ts shows them plainly.
 */
export async function createRedisLimitStore(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
  const { leaseMs, fences } = options;
  // Keys of holds never expire before their release. The store renews their expiry once a minute.
  const idleMs = (options.idleMs ?? IDLE_MS) + MINUTE_MS + leaseMs + LONGEST_QUARANTINE_MS;
  const connection = await connectRedis(options);
  const isCallers = options.clock === 'caller';
  const serverClock = (): string => (typeof options.clock === 'function' ? `~${options.clock()}` : '');
  const clock = (nowMs: number): string => (isCallers ? String(nowMs) : serverClock());
  const markers = createMarkers(connection, { ...options, clock: serverClock });

  const ask = createLanesOfCalls<HoldRequest, HoldResult>({
    store: 'Redis',
    bounds: HOLDS,
    runBatch: async (requests) => {
      const { keys, hasAdmissions, json, inOrder } = holdsCall(requests, fences);
      const revision = fences.revision();
      const nowMs = requests[0]?.asked.nowMs ?? 0;
      const args = [clock(nowMs), leaseMs, idleMs, hasAdmissions ? 1 : 0, json];
      const reply = (await connection.run('holds', keys, args)) as HoldsReply;
      refuseFormer(revision);
      if (isCallers && reply.includes('closed')) await markers.fence(clock(nowMs));
      const { outcomes, anyClosed } = outcomesOf(inOrder, reply);
      if (anyClosed) touchMarkers();
      return outcomes;
    },
  });

  /** Requests that can share a call. */
  function laneOf({ organizationId, nowMs }: AdmissionRequest | HoldRelease): string {
    return (connection.oneSlot ? shardKeyOf(organizationId) : '') + clock(nowMs);
  }

  /** A newer fence was read while Redis was asked: its answer may be that of a former master. */
  function refuseFormer(revision: number): void {
    if (fences.revision() !== revision) throw new StoreUnavailable('Redis was asked before a newer fence was known');
  }

  async function admit(request: AdmissionRequest): Promise<AdmissionResult> {
    const result = await ask(laneOf(request), { kind: 'take', asked: request });
    if (result === undefined) throw new Error(ANSWERED_AS_RELEASE);
    return result;
  }

  async function release(release: HoldRelease): Promise<void> {
    await ask(laneOf(release), { kind: 'free', asked: release });
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
    refuseFormer(revision);
    const [open, ...unknown] = reply as [number, ...string[]];
    if (open < 0) throw new StoreUnavailable(FENCED_OFF);
    if (open === 0 && isCallers) await markers.fence(clock(nowMs));
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

  /** Times that callers make up have no part in this. */
  function touchMarkers(): void {
    if (options.clock === 'server') markers.touchAll();
  }
  const timer = setInterval(touchMarkers, TOUCH_EVERY_MS);
  timer.unref();

  return {
    admit,
    release,
    renew,
    heldNanoUsd,
    takeRead,
    countRefused,
    ...markers,
    spoolMirror: createSpoolMirror(connection),
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
