import type pg from 'pg';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';

/** A browser in which a user signed in. Its cookie outlives sessions and does not sign in. */
export interface KnownBrowser {
  readonly userId: string;
  /** SHA-256 of the token. Only the browser has the token itself. */
  readonly tokenHash: Buffer;
  /** Hash of the browser's former token, which becomes invalid. */
  readonly formerTokenHash?: Buffer;
  /** The browser is stored only if this still is the user's password hash. */
  readonly passwordHash: string;
}

export const KNOWN_BROWSER_DAYS = 180;
const MAX_BROWSERS = 50;

const FORGET_FORMER = sql('forget_former_browser')`delete from known_browsers where token_hash = $1`;
const INSERT = sql('insert_known_browser')`
  insert into known_browsers (token_hash, user_id, expires_at)
    select $1, u.id, now() + interval '${KNOWN_BROWSER_DAYS} days' from users u
    where u.id = $2 and u.password_hash = $3 and u.disabled_at is null`;
const FORGET_OLDEST = sql('forget_oldest_browsers')`
  delete from known_browsers where user_id = $1 and token_hash not in (
      select token_hash from known_browsers where user_id = $1 order by created_at desc limit ${MAX_BROWSERS})`;
const FORGET_EXPIRED = sql('forget_expired_browsers')`
  delete from known_browsers where token_hash in (
      select token_hash from known_browsers where expires_at < now() order by expires_at limit 100 for update skip locked)`;

/** Stores a browser, unless the password has changed. Deletes the oldest of too many. */
export async function rememberBrowser(pool: pg.Pool, browser: KnownBrowser): Promise<void> {
  const { userId, tokenHash, formerTokenHash, passwordHash } = browser;
  await inTransaction(pool, 'begin', async (client) => {
    if (formerTokenHash) await run(client, FORGET_FORMER, [formerTokenHash]);
    await run(client, INSERT, [tokenHash, userId, passwordHash]);
    await run(client, FORGET_OLDEST, [userId]);
    await run(client, FORGET_EXPIRED, []);
  });
}
