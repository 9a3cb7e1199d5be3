import type pg from 'pg';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';

const RECORD = sql('record_untrusted_proxy')`
  insert into untrusted_proxies (address, seen_at) values ($1, now())
    on conflict (address) do update set seen_at = excluded.seen_at`;
const FORGET = sql('forget_untrusted_proxies')`delete from untrusted_proxies where seen_at < now() - interval '1 day'`;

/** Records an untrusted proxy for `doctor`. Bounded: once a minute at most, deleted after a day. */
export async function recordProxy(pool: pg.Pool, address: string): Promise<void> {
  await inTransaction(pool, 'begin', async (client) => {
    await run(client, RECORD, [address]);
    await run(client, FORGET, []);
  });
}
