import type { ShardFences } from '../../../database/limits-ownership/shard-fences.ts';
import type { RedisCalls } from './calls.ts';

export interface Shard {
  readonly key: string;
  readonly number: number;
}

export interface OpeningOptions {
  /** Groups of shards; one call may name one group. */
  readonly shardGroups: readonly (readonly Shard[])[];
  readonly leaseMs: number;
  readonly fences: ShardFences;
}

/**
 * Opens new incarnations: finds those without a fence, raises their fences in PostgreSQL, and gives
 * them their fence. A fence goes to the very incarnation that was found before it was raised; what
 * has begun since gets one of its own. So no two servers ever open a shard with the same fence.
 */
export function createOpening(connection: RedisCalls, { shardGroups, leaseMs, fences }: OpeningOptions) {
  let under: Promise<void> | undefined;

  async function tell(shards: readonly Shard[], clock: string, incarnations: readonly string[]): Promise<string[]> {
    const told = shards.flatMap(({ number }, index) => {
      const incarnation = incarnations[index] ?? '';
      return incarnation === '' ? ['', ''] : [incarnation, fences.of(number)];
    });
    const keys = shards.map(({ key }) => key);
    return (await connection.run('fenceShards', keys, [clock, leaseMs, ...told])) as string[];
  }

  async function fenceAll(clock: string): Promise<void> {
    await fences.refresh();
    const found = await Promise.all(
      shardGroups.map(async (shards) => ({ shards, incarnations: await tell(shards, clock, []) })),
    );
    const without = found.flatMap(({ shards, incarnations }) =>
      shards.filter((_, index) => incarnations[index] !== ''),
    );
    if (without.length === 0) return;
    // Another process was quicker and gives them their fences; otherwise the next touch finds them
    // again.
    if (!(await fences.raise(without.map(({ number }) => number)))) return;
    await Promise.all(found.map(({ shards, incarnations }) => tell(shards, clock, incarnations)));
  }

  return {
    /** Rejects with StoreUnavailable. */
    fence(clock: string): Promise<void> {
      under ??= fenceAll(clock).finally(() => {
        under = undefined;
      });
      return under;
    },
  };
}
