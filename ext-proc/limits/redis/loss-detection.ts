import { randomBytes } from 'node:crypto';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import type { SharedStore, StartedOver } from '#database/limits-ownership/shared-store.ts';
import type { RedisLog } from './connection.ts';
import { SHARD_KEYS, STORE_KEY } from './redis-keys.ts';
import type { ScriptCalls } from './script-calls.ts';
import { type Shard, ShardFencing } from './shard-fencing.ts';

export interface LossDetectionOptions {
  /** A shard that lost its data admits nothing for this long. */
  readonly leaseMs: number;
  /** Clock as in ARGV of the scripts. */
  readonly clock: () => string;
  readonly fences: ShardFences;
  readonly log: RedisLog;
  /** Addresses and policies of the masters that may evict keys. */
  readonly evictingMasters: () => Promise<readonly string[]>;
}

/** Each shard is touched this often, so all detect a loss and reopen together, a lease later. */
export const TOUCH_EVERY_MS = 5_000;
/** Time for a touch, including a new connection if the former was lost. */
const TOUCHED_WITHIN_MS = 3_000;
/** A raised fence has reached every shard within this time. */
const FENCED_WITHIN_MS = 3_000;

/** Where a touch begins new incarnations. */
type Begins = 'where_lost' | 'everywhere';

/** Of the shards of one call: ms until the first and the last admit, and how many do not. */
interface Touched {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly closed: number;
  readonly fencedOff: number;
  /** True if their server may evict keys. */
  readonly evicts: boolean;
}

/**
 * Detects that Redis lost data, by one marker key in each shard and by the key with the name of the
 * store (docs/design.md, "State in Redis").
 */
export class LossDetection implements SharedStore {
  readonly renamedWithinMs = TOUCH_EVERY_MS + TOUCHED_WITHIN_MS;
  readonly #connection: ScriptCalls;
  readonly #options: LossDetectionOptions;
  /** Groups of shards that one call may name. */
  readonly #shardGroups: readonly (readonly Shard[])[];
  readonly #fencing: ShardFencing;
  #kept: { readonly name: string; readonly onOther: () => void } | undefined;
  #touching = false;
  #evicts = false;
  #closedShards = 0;
  #loggedClosed = false;
  #fencedOffSinceMs: number | undefined;

  constructor(connection: ScriptCalls, options: LossDetectionOptions) {
    const all = SHARD_KEYS.map((key, number) => ({ key, number }));
    this.#connection = connection;
    this.#options = options;
    this.#shardGroups = connection.oneSlot ? all.map((shard) => [shard]) : [all];
    this.#fencing = new ShardFencing(connection, { ...options, shardGroups: this.#shardGroups });
  }

  /** Shards that admitted nothing at the last touch, because they were closed or did not answer. */
  get closedShards(): number {
    return this.#closedShards;
  }

  /**
   * Milliseconds until any shard, or all, admit. Shards that do not answer count as closed. Rejects
   * with StoreUnavailable if none answers.
   */
  async opensInMs(shards: 'any' | 'all' = 'any'): Promise<number> {
    const admits = Promise.withResolvers<number>();
    const touched = this.#touchShards('where_lost', '', () => admits.resolve(0));
    if (shards === 'all') return (await touched).lastMs;
    // A master that does not answer takes seconds, longer than a readiness probe waits.
    return Promise.race([admits.promise, touched.then(({ firstMs }) => firstMs)]);
  }

  /** Restores lost markers and the lost name in the background. Never rejects. */
  touchAll(): void {
    if (this.#touching) return;
    this.#touching = true;
    Promise.all([this.#touchShards('where_lost', ''), this.#restoreName()])
      .catch((error: unknown) => {
        // The connection reports an unavailable Redis.
        if (!(error instanceof StoreUnavailable))
          this.#options.log.warn({ error: String(error) }, 'markers could not be written to Redis');
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

  async #touchShards(begins: Begins, nonce: string, onAdmits = () => {}): Promise<Pick<Touched, 'firstMs' | 'lastMs'>> {
    const away: StoreUnavailable[] = [];
    const touch = async (shards: readonly Shard[]): Promise<Touched> => {
      try {
        const group = await this.#touch(shards, begins, nonce);
        if (group.firstMs === 0) onAdmits();
        return group;
      } catch (error) {
        if (begins === 'everywhere' || !(error instanceof StoreUnavailable)) throw error;
        away.push(error);
        const { leaseMs } = this.#options;
        return { firstMs: leaseMs, lastMs: leaseMs, closed: shards.length, fencedOff: 0, evicts: false };
      }
    };
    const touched = await Promise.all(this.#shardGroups.map(touch));
    if (begins === 'where_lost') this.#noteClosed(touched, away[0]);
    if (away[0] !== undefined && away.length === touched.length) throw away[0];
    this.#logEviction(touched.some(({ evicts }) => evicts));
    const firstMs = Math.min(...touched.map((group) => group.firstMs));
    const lastMs = Math.max(...touched.map((group) => group.lastMs));
    const connectsAgain = this.#noteFencedOff(touched.some(({ fencedOff }) => fencedOff > 0));
    if (lastMs > 0 && !connectsAgain) {
      await this.#fenceIfOurs(begins).catch((error: unknown) => {
        // The master with the name of the store may be away while others admit.
        if (firstMs > 0 || !(error instanceof StoreUnavailable)) throw error;
      });
    }
    return { firstMs, lastMs };
  }

  /**
   * A raised fence closes every other server, so a process that was connected to another Redis by
   * mistake must not raise one.
   */
  async #fenceIfOurs(begins: Begins): Promise<void> {
    if (begins === 'everywhere' || (await this.#isOurs())) await this.fence(this.#options.clock());
  }

  async #touch(shards: readonly Shard[], begins: Begins, nonce: string): Promise<Touched> {
    const { clock, leaseMs, fences } = this.#options;
    const newest = shards.map(({ number }) => fences.of(number));
    const args = [clock(), leaseMs, nonce, begins === 'everywhere' ? 1 : 0, ...newest];
    const reply = await this.#connection.run('touchShards', keysOf(shards), args);
    const [firstMs, lastMs, closed, fencedOff, evicts] = reply as [number, number, number, number, number];
    return { firstMs, lastMs, closed, fencedOff, evicts: evicts === 1 };
  }

  /** Logs when shards close, and when all are open. The connection logs that one server is away. */
  #noteClosed(touched: readonly Touched[], away: StoreUnavailable | undefined): void {
    this.#closedShards = touched.reduce((sum, { closed }) => sum + closed, 0);
    if (away !== undefined && !this.#connection.oneSlot) return;
    const fields = { shards: this.#closedShards, ...(away && { reason: away.message }) };
    const isClosed = this.#closedShards > 0;
    if (isClosed && !this.#loggedClosed)
      this.#options.log.warn(fields, 'shards of Redis are closed: their organizations get no_capacity');
    if (!isClosed && this.#loggedClosed) this.#options.log.info({}, 'all shards of Redis are open');
    this.#loggedClosed = isClosed;
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
      this.#options.log.warn({}, 'this Redis was a master, and another one was opened in its place: connecting again');
      this.#connection.reconnect();
    }
    return connectsAgain;
  }

  /**
   * Logs a policy that changed after the start. Evictions are detected as losses, but the holds of
   * dead processes are lost with them.
   */
  #logEviction(evicts: boolean): void {
    const begins = evicts && !this.#evicts;
    this.#evicts = evicts;
    if (!begins) return;
    // Without a list if the cluster cannot be asked now. It may take seconds, and no touch waits.
    void this.#options
      .evictingMasters()
      .catch(() => undefined)
      .then((masters) =>
        this.#options.log.warn(
          { masters },
          'Redis evicts keys when its memory is full, and loses holds: set maxmemory-policy to noeviction',
        ),
      );
  }
}

function keysOf(shards: readonly Shard[]): string[] {
  return shards.map(({ key }) => key);
}
