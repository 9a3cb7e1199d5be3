import type pg from 'pg';
import { only, sql } from '../connection/connection-pool.ts';
import type { ReadFences } from './shard-fences.ts';

/** Owner of the limits: a row in every read of a caller (key-lookup.ts) and every proof. */
export interface Owner {
  readonly memoryOwner: string;
  /** Name of the shared store. Absent: the limits are in memory. */
  readonly limitStore?: string;
}

export interface OwnerRow {
  readonly memory_owner: string | null;
  readonly limit_store: string | null;
  readonly store_fences: string;
}

export const OWNED_BY_ANOTHER =
  'Another gateway process already keeps the limits of this database, in its memory or in Redis. Stop it, or give all of them one redis:// store.';

export function isOwner({ memoryOwner, limitStore }: Owner, row: OwnerRow): boolean {
  return row.memory_owner === memoryOwner && (limitStore === undefined || row.limit_store === limitStore);
}

const READ_OWNER = sql('limits_owner')`select memory_owner, limit_store, store_fences from ledger_state`;

/** Reads the owner. Also observes the fences in the same row. */
export async function readOwner(connection: pg.Client, fences: Pick<ReadFences, 'observe'>): Promise<OwnerRow> {
  const readAtMs = performance.now();
  const row = await only<OwnerRow>(connection, READ_OWNER, []);
  fences.observe(row.store_fences, readAtMs);
  return row;
}
