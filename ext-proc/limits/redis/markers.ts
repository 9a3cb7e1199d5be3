import { randomBytes } from 'node:crypto';
import { StoreUnavailable } from '../../../core/store-unavailable.ts';
import type { ShardFences } from '../../../database/limits-ownership/shard-fences.ts';
import type { NewBeginning, SharedStore } from '../../../database/limits-ownership/shared-store.ts';
import type { RedisCalls } from './calls.ts';
import type { StoreLog } from './connection.ts';
import { createOpening, type Shard } from './opening.ts';
import { allShardKeys, STORE_KEY } from './shards.ts';

/** Detects Redis data loss: one marker key per shard, plus a key that names the store. */
export interface Markers extends SharedStore {
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
  /** Puts back soon what is gone. Never rejects. */
  touchAll(): void;
  /**
   * Opens shards that have no fence yet with one, after a lease. `clock`: as a script takes it.
   * Rejects with StoreUnavailable.
   */
  fence(clock: string): Promise<void>;
}

export interface MarkersOptions {
  /** A shard that forgot admits nothing for this long. */
  readonly leaseMs: number;
  /** As a script takes it. */
  readonly clock: () => string;
  readonly fences: ShardFences;
  readonly log: StoreLog;
}

/**
 * A loss is noticed by touching what was lost: all shards soon, so that the lease they wait is over
 * for all of them at about the same time.
 */
export const TOUCH_EVERY_MS = 5_000;
/** Until a touch is done, and a connection that was lost is made again. */
const ANSWERED_MS = 3_000;
const TOLD_MS = 3_000;

export function createMarkers(connection: RedisCalls, { leaseMs, clock, fences, log }: MarkersOptions): Markers {
  const all: readonly Shard[] = allShardKeys().map((key, number) => ({ key, number }));
  /** Groups of shards; one call may name one group. */
  const shardGroups: readonly (readonly Shard[])[] = connection.oneSlot ? all.map((shard) => [shard]) : [all];
  const opening = createOpening(connection, { shardGroups, leaseMs, fences });
  let kept: { readonly name: string; readonly onOther: () => void } | undefined;
  let touching = false;
  let evictsBy = '';
  let fencedOffSinceMs: number | undefined;

  async function touchShards(anew: boolean, nonce: string): Promise<number> {
    const touch = async (shards: readonly Shard[]) => {
      const newest = shards.map(({ number }) => fences.of(number));
      const args = [clock(), leaseMs, nonce, anew ? 1 : 0, ...newest];
      const keys = shards.map(({ key }) => key);
      return (await connection.run('touchShards', keys, args)) as readonly [
        closedMs: number,
        policy: string,
        fencedOff: number,
      ];
    };
    const touched = await Promise.all(shardGroups.map(touch));
    for (const [, policy] of touched) tellOfEviction(policy);
    noteFencedOff(touched.some(([, , fencedOff]) => fencedOff > 0));
    const closedMs = Math.max(...touched.map(([ms]) => ms));
    // A fence shuts every other server out: a process that was given another Redis by mistake must
    // not raise one.
    if (closedMs > 0 && (anew || (await isOurs()))) await opening.fence(clock());
    return closedMs;
  }

  /**
   * True: this server has the name of the store that counts. An empty server is given that name.
   */
  async function isOurs(): Promise<boolean> {
    return kept !== undefined && (await name(kept.name)) === kept.name;
  }

  /**
   * A raised fence reaches Redis a moment later; a longer difference means another server. The
   * address may lead to the right one.
   */
  function noteFencedOff(isFencedOff: boolean): void {
    const nowMs = performance.now();
    if (!isFencedOff) fencedOffSinceMs = undefined;
    else if (fencedOffSinceMs === undefined) fencedOffSinceMs = nowMs;
    else if (nowMs - fencedOffSinceMs >= TOLD_MS) {
      log.warn({}, 'this Redis was a master, and another one was opened in its place: connecting anew');
      fencedOffSinceMs = undefined;
      connection.reconnect();
    }
  }

  /**
   * The policy was right when the process connected. Evictions are detected, but the holds of dead
   * processes are lost with them.
   */
  function tellOfEviction(policy: string): void {
    if (policy !== '' && policy !== evictsBy) {
      log.warn(
        { policy },
        'Redis evicts keys when its memory is full, and forgets what is held: set maxmemory-policy to noeviction',
      );
    }
    evictsBy = policy;
  }

  async function beginAnew(): Promise<NewBeginning> {
    const nonce = randomBytes(9).toString('base64url');
    await touchShards(true, nonce);
    return {
      async open() {
        const keys = shardGroups.map((shards) => shards.map(({ key }) => key));
        await Promise.all(keys.map((group) => connection.run('openShards', group, [nonce])));
      },
    };
  }

  async function name(given = ''): Promise<string | undefined> {
    const borne = String(await connection.run('nameStore', [STORE_KEY], [given]));
    return borne === '' ? undefined : borne;
  }

  async function giveNameBack(): Promise<void> {
    if (kept !== undefined && !(await isOurs())) kept.onOther();
  }

  function touchAll(): void {
    if (touching) return;
    touching = true;
    Promise.all([touchShards(false, ''), giveNameBack()])
      .catch((error: unknown) => {
        // The connection reports an unavailable Redis.
        if (!(error instanceof StoreUnavailable)) log.warn({ error: String(error) }, 'Redis does not take its markers');
      })
      .finally(() => {
        touching = false;
      });
  }

  return {
    opensInMs: () => touchShards(false, ''),
    touchAll,
    fence: opening.fence,
    beginAnew,
    name,
    namedAgainMs: TOUCH_EVERY_MS + ANSWERED_MS,
    keepName(name, onOther) {
      kept = { name, onOther };
    },
  };
}
