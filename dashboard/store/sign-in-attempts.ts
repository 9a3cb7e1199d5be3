import { hash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import type pg from 'pg';
import { run, type Statement } from '../../ext-proc/stores/postgres/connection-pool.ts';

/** Of one attempt: what was typed, well formed or not, and where it came from. */
export interface SignInAttempt {
  readonly email: string;
  readonly address: string;
}

export type AttemptResult =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

const WINDOW_SECONDS = 900;
/** For an account from one address: others cannot keep its user out with a handful of attempts. */
const MAX_BY_PAIR = 10;
/** For an account, from wherever its user is not known: as many as NIST SP 800-63B (3.2.2) lets fail. */
const MAX_BY_ACCOUNT = 100;
const MAX_BY_ADDRESS = 30;
const THIS_WINDOW = `to_timestamp(floor(extract(epoch from now()) / ${WINDOW_SECONDS}) * ${WINDOW_SECONDS})`;
const ONE_MORE =
  'on conflict (subject, window_start) do update set attempts = least(a.attempts + 1, 1000000) returning a.attempts';

/**
 * Counted before a password is compared, in one statement, so that attempts side by side through several processes cannot slip past. The
 * address comes first, then the account from there: what is beyond either share counts no further, or one address could lock everybody out.
 */
const COUNT: Statement = {
  name: 'count_sign_in_attempt',
  text: `with this as (
      select ${THIS_WINDOW} as window_start
    ), forgotten as (
      delete from sign_in_attempts where (subject, window_start) in (
        select subject, window_start from sign_in_attempts where window_start < now() - interval '${2 * WINDOW_SECONDS} seconds'
        order by window_start limit 100 for update skip locked)
    ), of_address as (
      insert into sign_in_attempts as a (subject, window_start, attempts) select $1, window_start, 1 from this ${ONE_MORE}
    ), of_pair as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $2 || ' ' || $1, window_start, 1 from this, of_address where of_address.attempts <= ${MAX_BY_ADDRESS} ${ONE_MORE}
    ), of_account as (
      insert into sign_in_attempts as a (subject, window_start, attempts)
      select $2, window_start, 1 from this, of_pair where of_pair.attempts <= ${MAX_BY_PAIR} ${ONE_MORE}
    )
    select coalesce((select attempts <= ${MAX_BY_ACCOUNT} or $3 from of_account), false) as allowed,
      greatest(1, ceil(extract(epoch from window_start - now()) + ${WINDOW_SECONDS}))::integer as wait_seconds
    from this`,
};
/** Asking for the counts makes it lock the address, then the account from anywhere, then the account: in the order of counting. */
const FORGET: Statement = {
  name: 'forget_sign_in_attempts',
  text: `with of_address as (
      update sign_in_attempts set attempts = greatest(attempts - 1, 0)
      where subject = $1 and window_start = ${THIS_WINDOW} returning subject
    ), of_pairs as (
      delete from sign_in_attempts
      where subject > $2 || ' ' and subject < $2 || '!' and (select count(*) from of_address) >= 0 returning subject
    )
    delete from sign_in_attempts where subject = $2 and (select count(*) from of_pairs) >= 0`,
};

/**
 * Where the user signed in within these weeks, and did not sign out, only what is tried from there holds him up: otherwise ten addresses
 * of somebody else's would keep him out of his account for as long as they like.
 */
const KNOWN_ADDRESSES: Statement = {
  name: 'known_addresses',
  text: `select distinct s.address from sessions s join users u on u.id = s.user_id
    where u.email = $1 and s.expires_at > now()`,
};

export async function countAttempt(pool: pg.Pool, { email, address }: SignInAttempt): Promise<AttemptResult> {
  const from = addressSubject(address);
  const known = await run<{ address: string }>(pool, KNOWN_ADDRESSES, [email.trim().toLowerCase()]);
  const [row] = await run<{ allowed: boolean; wait_seconds: number }>(pool, COUNT, [
    from,
    accountSubject(email),
    known.some((one) => addressSubject(one.address) === from),
  ]);
  if (!row) throw new Error('an attempt was not counted');
  return row.allowed ? { allowed: true } : { allowed: false, retryAfterSeconds: row.wait_seconds };
}

/**
 * Who got in has no failures any more. The address, where an attempt was counted for it, gets back that one and no other: many people may
 * sign in from one office, and an account of one's own sets nobody free to try others.
 */
export async function forgetAttempts(pool: pg.Pool, email: string, address?: string): Promise<void> {
  await run(pool, FORGET, [address === undefined ? null : addressSubject(address), accountSubject(email)]);
}

/** Hashed: people type passwords into the wrong field. */
function accountSubject(email: string): string {
  return `account ${hash('sha256', email.trim().toLowerCase(), 'hex')}`;
}

/** Whoever has one IPv6 address has the 2^64 around it too. */
export function addressSubject(address: string): string {
  const mapped = address.replace(/^::ffff:/i, '');
  if (isIPv4(mapped) || !isIPv6(address)) return `address ${mapped.slice(0, 64)}`;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const front = head === '' ? [] : head.split(':');
  // A dotted end stands for two groups; it never reaches into the first four of those that are written out.
  const back =
    tail === undefined || tail === ''
      ? []
      : tail.split(':').flatMap((group) => (group.includes('.') ? ['', ''] : [group]));
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...back].slice(0, 4);
  return `address ${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
