import type pg from 'pg';
import { run, type Statement } from '../connection/connection-pool.ts';
import { IS_ACTIVE } from './key-lookup.ts';

/** Counts that bound how many keys an organization may still make. */
export interface KeyRoom {
  /** Neither revoked nor expired. */
  readonly usable: number;
  /** Keys of the last 24 hours, the revoked ones too. */
  readonly madeWithinDay: number;
}

const ROOM: Statement = {
  name: 'key_room',
  text: `select
      (select count(*)::integer from keys k
        where k.organization_id = $1 and ${IS_ACTIVE}) as usable,
      (select count(*)::integer from keys k
        where k.organization_id = $1 and k.created_at > now() - interval '1 day') as "madeWithinDay"`,
};

export async function keyRoom(pool: pg.Pool, organizationId: string): Promise<KeyRoom> {
  const [room] = await run<KeyRoom>(pool, ROOM, [organizationId]);
  if (room === undefined) throw new Error('a select without from gave no row');
  return room;
}
