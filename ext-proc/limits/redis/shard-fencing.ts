import type { ShardFences } from '#database/limits-ownership/shard-fences.ts';
import type { ScriptCalls } from './script-calls.ts';

export interface Shard {
  readonly key: string;
  readonly number: number;
}

export interface ShardFencingOptions {
  /** Groups of shards that one call may name. */
  readonly shardGroups: readonly (readonly Shard[])[];
  readonly leaseMs: number;
  readonly fences: ShardFences;
}

export interface ShardFencing {
  /** `clock`: as in ARGV of the scripts. Rejects with StoreUnavailable. */
  fence(clock: string): Promise<void>;
}

/**
 * Opens new incarnations: finds those without a fence, raises the fences of their shards in
 * PostgreSQL, and gives each its fence. A fence goes only to the incarnation that was found before
 * it was raised; a later incarnation gets a new one. So no two servers open a shard with the same
 * fence.
 */
export function createShardFencing(
  connection: ScriptCalls,
  { shardGroups, leaseMs, fences }: ShardFencingOptions,
): ShardFencing {
  let fencing: Promise<void> | undefined;

  /** Gives fences to these incarnations. Returns the incarnations that still have none. */
  async function giveFences(
    shards: readonly Shard[],
    clock: string,
    incarnations: readonly string[],
  ): Promise<string[]> {
    const given = shards.flatMap(({ number }, index) => {
      const incarnation = incarnations[index] ?? '';
      return incarnation === '' ? ['', ''] : [incarnation, fences.of(number)];
    });
    const keys = shards.map(({ key }) => key);
    return (await connection.run('fenceShards', keys, [clock, leaseMs, ...given])) as string[];
  }

  async function fenceAll(clock: string): Promise<void> {
    await fences.refresh();
    const found = await Promise.all(
      shardGroups.map(async (shards) => ({ shards, incarnations: await giveFences(shards, clock, []) })),
    );
    const without = found.flatMap(({ shards, incarnations }) =>
      shards.filter((_, index) => incarnations[index] !== ''),
    );
    if (without.length === 0) return;
    // Another process raised them first and gives them. If it fails, the next touch comes here
    // again.
    if (!(await fences.raise(without.map(({ number }) => number)))) return;
    await Promise.all(found.map(({ shards, incarnations }) => giveFences(shards, clock, incarnations)));
  }

  return {
    fence(clock) {
      fencing ??= fenceAll(clock).finally(() => {
        fencing = undefined;
      });
      return fencing;
    },
  };
}
