import { randomBytes } from 'node:crypto';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import type { SharedStore, StartedOver } from '#database/limits-ownership/shared-store.ts';
import type { StoreLog } from './connection.ts';
import { allShardKeys, STORE_KEY } from './redis-keys.ts';
import type { ScriptCalls } from './script-calls.ts';
import { type Shard, ShardFencing } from './shard-fencing.ts';

export interface LossDetectionOptions {
  /** A shard that lost its data admits nothing for this long. */
  readonly leaseMs: number;
  /** Clock as in ARGV of the scripts. */
  readonly clock: () => string;
  readonly fences: ShardFences;
  readonly log: StoreLog;
}

/** Each shard is touched this often, so all detect a loss and reopen together, a lease later. */
export const TOUCH_EVERY_MS = 5_000;
/** Time for a touch, including a new connection if the former was lost. */
const TOUCHED_WITHIN_MS = 3_000;
/** A raised fence has reached every shard within this time. */
const FENCED_WITHIN_MS = 3_000;

/**
 * Detects that Redis lost data, by one marker key in each shard and by the key with the name of the
 * store (docs/design.md, "State in Redis").
 */
export class LossDetection implements SharedStore {
  readonly renamedWithinMs = TOUCH_EVERY_MS + TOUCHED_WITHIN_MS;
  readonly #connection: ScriptCalls;
  readonly #leaseMs: number;
  readonly #clock: () => string;
  readonly #fences: ShardFences;
  readonly #log: StoreLog;
  /** Groups of shards that one call may name. */
  readonly #shardGroups: readonly (readonly Shard[])[];
  readonly #fencing: ShardFencing;
  #kept: { readonly name: string; readonly onOther: () => void } | undefined;
  #touching = false;
  #evictsBy = '';
  #fencedOffSinceMs: number | undefined;

  constructor(connection: ScriptCalls, { leaseMs, clock, fences, log }: LossDetectionOptions) {
    const all = allShardKeys().map((key, number) => ({ key, number }));
    this.#connection = connection;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#fences = fences;
    this.#log = log;
    this.#shardGroups = connection.oneSlot ? all.map((shard) => [shard]) : [all];
    this.#fencing = new ShardFencing(connection, { shardGroups: this.#shardGroups, leaseMs, fences });
  }

  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number> {
    return this.#touchShards('where_lost', '');
  }

  /** Restores lost markers and the lost name in the background. Never rejects. */
  touchAll(): void {
    if (this.#touching) return;
    this.#touching = true;
    Promise.all([this.#touchShards('where_lost', ''), this.#restoreName()])
      .catch((error: unknown) => {
        // The connection reports an unavailable Redis.
        if (!(error instanceof StoreUnavailable))
          this.#log.warn({ error: String(error) }, 'markers could not be written to Redis');
      })
      .finally(() => {
        this.#touching = false;
      });
  }

  /** Gives fences to shards without one. They open one lease later (ShardFencing). */
  fence(clock: string): Promise<void> {
    return this.#fencing.fence(clock);
  }

  async startOver(): Promise<StartedOver> {
    const nonce = randomBytes(9).toString('base64url');
    await this.#touchShards('everywhere', nonce);
    return {
      open: async () => {
        const opened = this.#shardGroups.map((shards) => this.#connection.run('openShards', keysOf(shards), [nonce]));
        await Promise.all(opened);
      },
    };
  }

  async name(given = ''): Promise<string | undefined> {
    const found = String(await this.#connection.run('nameStore', [STORE_KEY], [given]));
    return found === '' ? undefined : found;
  }

  keepName(name: string, onOther: () => void): void {
    this.#kept = { name, onOther };
  }

  async #restoreName(): Promise<void> {
    if (this.#kept !== undefined && !(await this.#isOurs())) this.#kept.onOther();
  }

  /** True if this server has the expected name. A server without a name gets it. */
  async #isOurs(): Promise<boolean> {
    return this.#kept !== undefined && (await this.name(this.#kept.name)) === this.#kept.name;
  }

  async #touchShards(begins: 'where_lost' | 'everywhere', nonce: string): Promise<number> {
    const touched = await Promise.all(this.#shardGroups.map((shards) => this.#touch(shards, begins, nonce)));
    for (const [, policy] of touched) this.#logEviction(policy);
    const connectsAgain = this.#noteFencedOff(touched.some(([, , fencedOff]) => fencedOff > 0));
    const closedMs = Math.max(...touched.map(([ms]) => ms));
    if (connectsAgain) return closedMs;
    // A raised fence closes every other server, so a process that was connected to another Redis by
    // mistake must not raise one.
    if (closedMs > 0 && (begins === 'everywhere' || (await this.#isOurs()))) await this.fence(this.#clock());
    return closedMs;
  }

  async #touch(shards: readonly Shard[], begins: 'where_lost' | 'everywhere', nonce: string) {
    const newest = shards.map(({ number }) => this.#fences.of(number));
    const args = [this.#clock(), this.#leaseMs, nonce, begins === 'everywhere' ? 1 : 0, ...newest];
    return (await this.#connection.run('touchShards', keysOf(shards), args)) as readonly [
      closedMs: number,
      policy: string,
      fencedOff: number,
    ];
  }

  /**
   * Connects again if the server stays fenced off, because the address may lead to the new master
   * by now. A fence that was just raised takes a moment to reach its shard. Returns whether it
   * connects again.
   */
  #noteFencedOff(isFencedOff: boolean): boolean {
    const nowMs = performance.now();
    const sinceMs = isFencedOff ? (this.#fencedOffSinceMs ?? nowMs) : nowMs;
    const connectsAgain = nowMs - sinceMs >= FENCED_WITHIN_MS;
    this.#fencedOffSinceMs = isFencedOff && !connectsAgain ? sinceMs : undefined;
    if (connectsAgain) {
      this.#log.warn({}, 'this Redis was a master, and another one was opened in its place: connecting again');
      this.#connection.reconnect();
    }
    return connectsAgain;
  }

  /**
   * Logs a policy that changed after the start. Evictions are detected as losses, but the holds of
   * dead processes are lost with them.
   */
  #logEviction(policy: string): void {
    if (policy !== '' && policy !== this.#evictsBy) {
      this.#log.warn(
        { policy },
        'Redis evicts keys when its memory is full, and loses holds: set maxmemory-policy to noeviction',
      );
    }
    this.#evictsBy = policy;
  }
}

function keysOf(shards: readonly Shard[]): string[] {
  return shards.map(({ key }) => key);
}
