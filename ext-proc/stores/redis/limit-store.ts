import { randomBytes } from 'node:crypto';
import { MINUTE_MS } from '../../domain/clock.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type {
  AdmissionRequest,
  AdmissionResult,
  HoldRelease,
  LimitStore,
  LiveHold,
  ReadResult,
} from '../limit-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { takenAmount } from './amounts.ts';
import { type ConnectionOptions, connectRedis } from './connection.ts';
import { createGathering } from './gathering.ts';
import { answerHolds, type HoldRequest, type HoldsReply, holdsCall } from './holds-call.ts';
import { allShardKeys, organizationKeys, readsKey, STORE_KEY, shardKeyOf } from './shards.ts';

export interface RedisLimitStoreOptions extends ConnectionOptions {
  /** A hold that is not renewed for this long lapses; a store that forgot admits nothing for as long. */
  readonly leaseMs: number;
  /**
   * `server`: minutes, days and leases are by the clock of Redis, one for all processes, and `nowMs` only tells what the caller's clock says at
   * that moment. `caller`: by `nowMs`, for tests.
   */
  readonly clock: 'server' | 'caller';
  /** Organizations and keys that hold nothing are forgotten after this long without a request. */
  readonly idleMs?: number;
}

export interface RedisLimitStore extends LimitStore {
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
  /** The name it bears; with `given`, that one where it has none. `undefined`: none. */
  name(given?: string): Promise<string | undefined>;
  readonly namedAgainMs: number;
  /** Gives it this name back whenever it forgot, and tells when it bears another. */
  keepName(name: string, onOther: () => void): void;
  /** What Redis remembers must not be believed: all shards begin anew, and are closed for one lease. */
  beginAnew(): Promise<NewBeginning>;
}

export interface NewBeginning {
  /** There are no live holds anywhere: admissions need not wait. Does nothing to a shard that forgot again since. */
  open(): Promise<void>;
}

const IDLE_MS = 600_000;
/** A loss is noticed by touching what was lost: all shards soon, so that the lease they wait is over for all of them at about the same time. */
const TOUCH_EVERY_MS = 5_000;
/** Until a touch is done, and a connection that was lost is made again. */
const ANSWERED_MS = 3_000;
/** One call must not keep Redis from the others: 200 renewals take it about a millisecond. */
const MOST_RENEWALS = 200;
/** 100 admissions take Redis about a millisecond. */
const HOLDS = { mostTogether: 100, mostWaiting: 20_000 };

/** Windows, slots and holds in Redis, shared by every gateway process. The promises are the interface's; memory/limit-store.ts shows them plainly. */
export async function createRedisLimitStore(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
  const { leaseMs, log } = options;
  // What is held is never forgotten before it lapses.
  const idleMs = Math.max(options.idleMs ?? IDLE_MS, 2 * leaseMs);
  const connection = await connectRedis(options);
  const clock = (nowMs: number): string => (options.clock === 'server' ? '' : String(nowMs));

  const ask = createGathering<HoldRequest>(HOLDS, async (requests) => {
    try {
      const { keys, hasAdmissions, json, requests: inOrder } = holdsCall(requests);
      const nowMs = requests[0]?.asked.nowMs ?? 0;
      const args = [clock(nowMs), leaseMs, idleMs, hasAdmissions ? 1 : 0, json];
      const reply = await connection.run('holds', keys, args);
      if (answerHolds(inOrder, reply as HoldsReply)) keepTouched();
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  });

  /** Requests that can share a call. */
  function laneOf({ organizationId, nowMs }: AdmissionRequest | HoldRelease): string {
    return (connection.oneSlot ? shardKeyOf(organizationId) : '') + clock(nowMs);
  }

  function admit(request: AdmissionRequest): Promise<AdmissionResult> {
    return new Promise((resolve, reject) => ask(laneOf(request), { kind: 'take', asked: request, resolve, reject }));
  }

  function release(release: HoldRelease): Promise<void> {
    return new Promise((resolve, reject) => ask(laneOf(release), { kind: 'free', asked: release, resolve, reject }));
  }

  async function renew(holds: readonly LiveHold[], nowMs: number): Promise<readonly string[]> {
    const byOrganization = Map.groupBy(holds, (hold) => hold.organizationId);
    const calls = [...byOrganization].flatMap(([organizationId, all]) =>
      inBatches(all).map((batch) => renewBatch(organizationId, batch, nowMs)),
    );
    return (await Promise.all(calls)).flat();
  }

  async function renewBatch(organizationId: string, batch: readonly LiveHold[], nowMs: number): Promise<string[]> {
    const keys = organizationKeys(organizationId);
    const lapsed = await connection.run(
      'renew',
      [keys.shard, keys.organization, keys.holds, keys.leases],
      [
        ...[clock(nowMs), leaseMs, idleMs, keys.keyPrefix],
        ...batch.flatMap(({ holdId, keyId, day, holdNanoUsd }) => [holdId, keyId, day, takenAmount(holdNanoUsd)]),
      ],
    );
    return lapsed as string[];
  }

  async function heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd> {
    const keys = organizationKeys(organizationId);
    const amount = await connection.run(
      'held',
      [keys.shard, keys.organization, keys.holds, keys.leases],
      [clock(nowMs), leaseMs, keys.keyPrefix],
    );
    return BigInt(String(amount));
  }

  async function takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult> {
    const reply = await connection.run('takeRead', [readsKey(keyId)], [clock(nowMs), readsPerMinute]);
    const [allowed, serverNowMs, minute] = reply as [number, number, number];
    if (allowed === 1) return { allowed: true };
    return { allowed: false, resetsAtMs: (minute + 1) * MINUTE_MS + nowMs - serverNowMs };
  }

  /** Each is what one call may be told of. */
  const shardGroups = connection.oneSlot ? allShardKeys().map((shard) => [shard]) : [allShardKeys()];

  async function touchShards(anew: boolean, nonce: string): Promise<number> {
    const touch = async (shards: readonly string[]): Promise<number> =>
      Number(await connection.run('touchShards', shards, ['', leaseMs, nonce, anew ? 1 : 0]));
    return Math.max(...(await Promise.all(shardGroups.map(touch))));
  }

  async function beginAnew(): Promise<NewBeginning> {
    const nonce = randomBytes(9).toString('base64url');
    await touchShards(true, nonce);
    return {
      async open() {
        await Promise.all(shardGroups.map((shards) => connection.run('openShards', shards, [nonce])));
      },
    };
  }

  async function name(given = ''): Promise<string | undefined> {
    const borne = String(await connection.run('nameStore', [STORE_KEY], [given]));
    return borne === '' ? undefined : borne;
  }

  let kept: { readonly name: string; readonly onOther: () => void } | undefined;
  async function giveNameBack(): Promise<void> {
    if (kept !== undefined && (await name(kept.name)) !== kept.name) kept.onOther();
  }

  let touching = false;
  /** Times that callers make up have no part in this. */
  function keepTouched(): void {
    if (touching || options.clock === 'caller') return;
    touching = true;
    Promise.all([touchShards(false, ''), giveNameBack()])
      .catch((error: unknown) => {
        // That Redis is away is told where the connection is kept.
        if (!(error instanceof StoreUnavailable)) log.warn({ error: String(error) }, 'Redis does not take its markers');
      })
      .finally(() => {
        touching = false;
      });
  }
  const timer = setInterval(keepTouched, TOUCH_EVERY_MS);
  timer.unref();

  return {
    admit,
    release,
    renew,
    heldNanoUsd,
    takeRead,
    opensInMs: () => touchShards(false, ''),
    beginAnew,
    name,
    namedAgainMs: TOUCH_EVERY_MS + ANSWERED_MS,
    keepName(name, onOther) {
      kept = { name, onOther };
    },
    async close() {
      clearInterval(timer);
      await connection.close();
    },
  };
}

function inBatches(holds: readonly LiveHold[]): LiveHold[][] {
  const batches: LiveHold[][] = [];
  for (let from = 0; from < holds.length; from += MOST_RENEWALS) batches.push(holds.slice(from, from + MOST_RENEWALS));
  return batches;
}
