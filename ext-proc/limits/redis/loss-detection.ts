import { randomBytes } from 'node:crypto';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import type { SharedStore, StartedOver } from '#database/limits-ownership/shared-store.ts';
import type { StoreLog } from './connection.ts';
import { allShardKeys, STORE_KEY } from './redis-keys.ts';
import type { ScriptCalls } from './script-calls.ts';
import { createShardFencing, type Shard } from './shard-fencing.ts';

/**
 * Detects that Redis lost data: by one marker key in each shard, and by the key with its name.
 * docs/design.md, "State in Redis".
 */
export interface LossDetection extends SharedStore {
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
  /** Restores lost markers and the lost name in the background. Never rejects. */
  touchAll(): void;
  /**
   * Gives fences to shards without one; they open a lease later. `clock`: as in ARGV of the
   * scripts. Rejects with StoreUnavailable.
   */
  fence(clock: string): Promise<void>;
}

export interface LossDetectionOptions {
  /** A shard that lost its data admits nothing for this long. */
  readonly leaseMs: number;
  /** Clock as in ARGV of the scripts. */
  readonly clock: () => string;
  readonly fences: ShardFences;
  readonly log: StoreLog;
}

/**
 * Every shard is touched every 5 s, so a loss is detected everywhere at once and all shards reopen
 * together, one lease later.
 */
export const TOUCH_EVERY_MS = 5_000;
/** Time for a touch, with a new connection if the former was lost. */
const TOUCHED_WITHIN_MS = 3_000;
/** A raised fence has reached every shard within this time. */
const FENCED_WITHIN_MS = 3_000;

export function createLossDetection(
  connection: ScriptCalls,
  { leaseMs, clock, fences, log }: LossDetectionOptions,
): LossDetection {
  const all: readonly Shard[] = allShardKeys().map((key, number) => ({ key, number }));
  /** Groups of shards that one call may name. */
  const shardGroups: readonly (readonly Shard[])[] = connection.oneSlot ? all.map((shard) => [shard]) : [all];
  const fencing = createShardFencing(connection, { shardGroups, leaseMs, fences });
  let kept: { readonly name: string; readonly onOther: () => void } | undefined;
  let touching = false;
  let evictsBy = '';
  let fencedOffSinceMs: number | undefined;

  async function touchShards(begins: 'where_lost' | 'everywhere', nonce: string): Promise<number> {
    const touch = async (shards: readonly Shard[]) => {
      const newest = shards.map(({ number }) => fences.of(number));
      const args = [clock(), leaseMs, nonce, begins === 'everywhere' ? 1 : 0, ...newest];
      const keys = shards.map(({ key }) => key);
      return (await connection.run('touchShards', keys, args)) as readonly [
        closedMs: number,
        policy: string,
        fencedOff: number,
      ];
    };
    const touched = await Promise.all(shardGroups.map(touch));
    for (const [, policy] of touched) logEviction(policy);
    noteFencedOff(touched.some(([, , fencedOff]) => fencedOff > 0));
    const closedMs = Math.max(...touched.map(([ms]) => ms));
    // A raised fence closes every other server, so a process that was connected to another Redis by
    // mistake must not raise one.
    if (closedMs > 0 && (begins === 'everywhere' || (await isOurs()))) await fencing.fence(clock());
    return closedMs;
  }

  /** True if this server has the expected name. A server without a name gets it. */
  async function isOurs(): Promise<boolean> {
    return kept !== undefined && (await name(kept.name)) === kept.name;
  }

  /**
   * Connects again if the server stays fenced off, because the address may lead to the new master
   * by now. A fence that was just raised takes a moment to reach its shard.
   */
  function noteFencedOff(isFencedOff: boolean): void {
    const nowMs = performance.now();
    if (!isFencedOff) fencedOffSinceMs = undefined;
    else if (fencedOffSinceMs === undefined) fencedOffSinceMs = nowMs;
    else if (nowMs - fencedOffSinceMs >= FENCED_WITHIN_MS) {
      log.warn({}, 'this Redis was a master, and another one was opened in its place: connecting again');
      fencedOffSinceMs = undefined;
      connection.reconnect();
    }
  }

  /**
   * Logs a policy that changed after the start. Evictions are detected as losses, but the holds of
   * dead processes are lost with them.
   */
  function logEviction(policy: string): void {
    if (policy !== '' && policy !== evictsBy) {
      log.warn(
        { policy },
        'Redis evicts keys when its memory is full, and loses holds: set maxmemory-policy to noeviction',
      );
    }
    evictsBy = policy;
  }

  async function startOver(): Promise<StartedOver> {
    const nonce = randomBytes(9).toString('base64url');
    await touchShards('everywhere', nonce);
    return {
      async open() {
        const keys = shardGroups.map((shards) => shards.map(({ key }) => key));
        await Promise.all(keys.map((group) => connection.run('openShards', group, [nonce])));
      },
    };
  }

  async function name(given = ''): Promise<string | undefined> {
    const found = String(await connection.run('nameStore', [STORE_KEY], [given]));
    return found === '' ? undefined : found;
  }

  async function restoreName(): Promise<void> {
    if (kept !== undefined && !(await isOurs())) kept.onOther();
  }

  function touchAll(): void {
    if (touching) return;
    touching = true;
    Promise.all([touchShards('where_lost', ''), restoreName()])
      .catch((error: unknown) => {
        // The connection reports an unavailable Redis.
        if (!(error instanceof StoreUnavailable))
          log.warn({ error: String(error) }, 'markers could not be written to Redis');
      })
      .finally(() => {
        touching = false;
      });
  }

  return {
    opensInMs: () => touchShards('where_lost', ''),
    touchAll,
    fence: fencing.fence,
    startOver,
    name,
    renamedWithinMs: TOUCH_EVERY_MS + TOUCHED_WITHIN_MS,
    keepName(name, onOther) {
      kept = { name, onOther };
    },
  };
}
