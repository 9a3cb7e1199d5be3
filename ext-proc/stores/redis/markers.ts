import { randomBytes } from 'node:crypto';
import type { NewBeginning, SharedStore } from '../shared-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { RedisCalls } from './calls.ts';
import type { StoreLog } from './connection.ts';
import { allShardKeys, STORE_KEY } from './shards.ts';

/** What tells that Redis forgot: a marker in every shard, and the name of the whole store. */
export interface Markers extends SharedStore {
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
  /** Puts back soon what is gone. Never rejects. */
  touchAll(): void;
}

export interface MarkersOptions {
  /** A shard that forgot admits nothing for this long. */
  readonly leaseMs: number;
  /** As a script takes it. */
  readonly clock: () => string;
  readonly log: StoreLog;
}

/** A loss is noticed by touching what was lost: all shards soon, so that the lease they wait is over for all of them at about the same time. */
export const TOUCH_EVERY_MS = 5_000;
/** Until a touch is done, and a connection that was lost is made again. */
const ANSWERED_MS = 3_000;

export function createMarkers(connection: RedisCalls, { leaseMs, clock, log }: MarkersOptions): Markers {
  /** Each is what one call may be told of. */
  const shardGroups = connection.oneSlot ? allShardKeys().map((shard) => [shard]) : [allShardKeys()];
  let kept: { readonly name: string; readonly onOther: () => void } | undefined;
  let touching = false;
  let evictsBy = '';

  async function touchShards(anew: boolean, nonce: string): Promise<number> {
    const touch = async (shards: readonly string[]): Promise<number> => {
      const reply = await connection.run('touchShards', shards, [clock(), leaseMs, nonce, anew ? 1 : 0]);
      const [closedMs, policy] = reply as [number, string];
      tellOfEviction(policy);
      return closedMs;
    };
    return Math.max(...(await Promise.all(shardGroups.map(touch))));
  }

  /** It was right when the process connected. What is evicted is found by then, but what dead processes held is forgotten with it. */
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
        await Promise.all(shardGroups.map((shards) => connection.run('openShards', shards, [nonce])));
      },
    };
  }

  async function name(given = ''): Promise<string | undefined> {
    const borne = String(await connection.run('nameStore', [STORE_KEY], [given]));
    return borne === '' ? undefined : borne;
  }

  async function giveNameBack(): Promise<void> {
    if (kept !== undefined && (await name(kept.name)) !== kept.name) kept.onOther();
  }

  function touchAll(): void {
    if (touching) return;
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

  return {
    opensInMs: () => touchShards(false, ''),
    touchAll,
    beginAnew,
    name,
    namedAgainMs: TOUCH_EVERY_MS + ANSWERED_MS,
    keepName(name, onOther) {
      kept = { name, onOther };
    },
  };
}
