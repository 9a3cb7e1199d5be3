import type pg from 'pg';
import { only, run, sql } from '../connection/connection-pool.ts';
import { type AttemptOrigin, accountSubject, addressSubject, originSubjects } from './attempt-subjects.ts';

/** An attempt, with its origin and the typed address, which may be malformed. */
export interface SignInAttempt extends AttemptOrigin {
  readonly email: string;
  /** SHA-256 of the token in a known browser's cookie. */
  readonly browserHash?: Buffer;
}

export type AttemptResult =
  /** `knownBrowser`: the user has signed in with this browser before. */
  | { readonly allowed: true; readonly knownBrowser: boolean }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

const WINDOW_SECONDS = 900;
/** Bound for an account from one address or browser: others cannot lock the user out. */
const MAX_BY_PAIR = 10;
/**
 * Bound for an account from all clients together that an untrusted proxy names. One more than that
 * of a client, so that a single client does not keep out the others behind a real proxy.
 */
const MAX_BY_PROXY_PAIR = MAX_BY_PAIR + 1;
/** Bound for an account from all unknown origins, the maximum of NIST SP 800-63B (3.2.2). */
const MAX_BY_ACCOUNT = 100;
const MAX_BY_ADDRESS = 30;
/** Counts do not exceed this. */
const MAX_COUNT = 1_000_000;
const THIS_WINDOW = `to_timestamp(floor(extract(epoch from now()) / ${WINDOW_SECONDS}) * ${WINDOW_SECONDS})`;
const ONE_MORE = `on conflict (subject, window_start) do update set attempts = least(a.attempts + 1, ${MAX_COUNT}) returning a.attempts`;

/**
 * Counts an attempt before the password is verified, in one statement, so that concurrent attempts
 * through several processes cannot exceed a limit. Counts first for the address, then for its
 * network, then for the account from that origin and from its untrusted proxy, then for the
 * account. An attempt beyond one limit counts no further, because one address could otherwise lock
 * everybody out. Each count reads the one before, so all statements lock in this order. $1, $2 and
 * $8 are null if they are not counted.
 */
const COUNT = sql('count_sign_in_attempt')`
  with this as (
      select ${THIS_WINDOW} as window_start
    ), forgotten as (
      delete from sign_in_attempts where (subject, window_start) in (
        select subject, window_start from sign_in_attempts where window_start < now() - interval '${2 * WINDOW_SECONDS} seconds'
        order by window_start limit 100 for update skip locked)
    ), of_address as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $1::text, window_start, 1 from this where $1::text is not null ${ONE_MORE}
    ), within_address as (
      select coalesce((select attempts from of_address), 0) <= $5::integer as ok
    ), of_network as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $2::text, window_start, 1 from this, within_address where ok and $2::text is not null ${ONE_MORE}
    ), within_network as (
      select ok and coalesce((select attempts from of_network), 0) <= $6::integer as ok from within_address
    ), of_pair as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $3::text || ' ' || $4::text, window_start, 1 from this, within_network where ok ${ONE_MORE}
    ), of_proxy_pair as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $3::text || ' ' || $8::text, window_start, 1 from this, of_pair
      where of_pair.attempts <= ${MAX_BY_PAIR} and $8::text is not null ${ONE_MORE}
    ), within_pairs as (
      select attempts <= ${MAX_BY_PAIR} and coalesce((select attempts from of_proxy_pair), 0) <= ${MAX_BY_PROXY_PAIR} as ok
      from of_pair
    ), of_account as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $3::text, window_start, 1 from this, within_pairs where ok ${ONE_MORE}
    )
    select coalesce((select attempts <= $7::integer from of_account), false) as allowed,
      greatest(1, ceil(extract(epoch from window_start - now()) + ${WINDOW_SECONDS}))::integer as wait_seconds
    from this`;
/** Locks in the order of counting: the address, its network, account and origin, account. */
const FORGET = sql('forget_sign_in_attempts')`
  with of_address as (
      update sign_in_attempts set attempts = greatest(attempts - 1, 0)
      where subject = $1 and window_start = ${THIS_WINDOW} returning subject
    ), of_network as (
      update sign_in_attempts set attempts = greatest(attempts - 1, 0)
      where subject = $2 and window_start = ${THIS_WINDOW} and (select count(*) from of_address) >= 0 returning subject
    ), of_pairs as (
      delete from sign_in_attempts
      where subject > $3 || ' ' and subject < $3 || '!' and (select count(*) from of_network) >= 0 returning subject
    )
    delete from sign_in_attempts where subject = $3 and (select count(*) from of_pairs) >= 0`;

/**
 * Reads the addresses at which the user has a session, and whether the browser is known. Attempts
 * from elsewhere do not limit these.
 */
const KNOWN = sql('known_origins')`
  select
      exists (select from known_browsers b join users u on u.id = b.user_id
        where b.token_hash = $2 and u.email = $1 and u.disabled_at is null and b.expires_at > now()) as browser,
      array(select distinct s.address from sessions s join users u on u.id = s.user_id
        where u.email = $1 and s.expires_at > now()) as addresses`;

/**
 * Counts an attempt. A browser that the user has used counts only against its own share for the
 * account, so a stolen token gives no more than that share. From an address at which the user has a
 * session, only the share of address and account together applies. An address that only an
 * untrusted proxy claims does not count as known.
 */
export async function countAttempt(pool: pg.Pool, attempt: SignInAttempt): Promise<AttemptResult> {
  const { email, browserHash, address, claimedAddress } = attempt;
  const { near, wide } = originSubjects(attempt);
  const values = [email.trim().toLowerCase(), browserHash ?? null];
  const known = await only<{ browser: boolean; addresses: readonly string[] }>(pool, KNOWN, values);
  const knownBrowser = known.browser;
  const here = addressSubject(address);
  const isKnown =
    knownBrowser || (claimedAddress === undefined && known.addresses.some((one) => addressSubject(one) === here));
  const row = await only<{ allowed: boolean; wait_seconds: number }>(pool, COUNT, [
    knownBrowser ? null : near,
    knownBrowser ? null : (wide?.subject ?? null),
    accountSubject(email),
    knownBrowser ? `browser ${browserHash?.toString('hex')}` : near,
    isKnown ? MAX_COUNT : MAX_BY_ADDRESS,
    isKnown ? MAX_COUNT : (wide?.max ?? MAX_COUNT),
    isKnown ? MAX_COUNT : MAX_BY_ACCOUNT,
    knownBrowser || claimedAddress === undefined ? null : (wide?.subject ?? null),
  ]);
  return row.allowed ? { allowed: true, knownBrowser } : { allowed: false, retryAfterSeconds: row.wait_seconds };
}

/**
 * Clears the account's failures after a sign-in. Of the counts of address and network only this
 * attempt is removed: many people may share an office, and an attacker with an account must not
 * reset those counts.
 */
export async function forgetAttempts(pool: pg.Pool, email: string, counted?: AttemptOrigin): Promise<void> {
  const { near = null, wide } = counted === undefined ? {} : originSubjects(counted);
  await run(pool, FORGET, [near, wide?.subject ?? null, accountSubject(email)]);
}
