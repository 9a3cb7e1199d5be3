import type pg from 'pg';
import { only, sql } from '../connection/connection-pool.ts';

/** Limits of attempted changes per UTC minute and UTC day. */
export interface ChangeLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

export const CHANGE_LIMITS: ChangeLimits = { perMinute: 60, perDay: 2_000 };

/** Subject of the counts: a user, or an organization whose members are changed. */
export interface Changer {
  readonly subject: string;
  readonly organization?: string;
}

export type CountResult =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly by: 'subject' | 'organization'; readonly retryAfterSeconds: number };

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;

const startOf = (seconds: number) => `to_timestamp(floor(extract(epoch from now()) / ${seconds}) * ${seconds})`;
const ONE_MORE = `on conflict (subject, window_seconds, window_start) do update set changes = least(c.changes + 1, 1000000) returning c.changes`;
const count = (subject: string, seconds: number, from: string) =>
  `insert into change_counts as c (subject, window_seconds, window_start, changes)
      select ${subject}, ${seconds}, ${startOf(seconds)}, 1 ${from} ${ONE_MORE}`;

/**
 * Counts an attempt before the change, in one statement, so that parallel processes cannot exceed a
 * limit. The organization's count is incremented only if the user's own limits allow the change.
 */
const COUNT = sql('count_change')`
  with forgotten as (
      delete from change_counts where (subject, window_seconds, window_start) in (
        select subject, window_seconds, window_start from change_counts where window_start < now() - interval '2 days'
        order by window_start limit 100 for update skip locked)
    ), minute as (
      ${count('$1::text', MINUTE_SECONDS, '')}
    ), day as (
      ${count('$1::text', DAY_SECONDS, 'from minute where minute.changes <= $3')}
    ), minute_of_all as (
      ${count('$2::text', MINUTE_SECONDS, 'from day where day.changes <= $4 and $2::text is not null')}
    ), day_of_all as (
      ${count('$2::text', DAY_SECONDS, 'from minute_of_all where minute_of_all.changes <= $3')}
    )
    select (select changes from minute) as minute, (select changes from day) as day, (select changes from minute_of_all) as "minuteOfAll",
      (select changes from day_of_all) as "dayOfAll",
      ceil(${MINUTE_SECONDS} - extract(epoch from now() - ${startOf(MINUTE_SECONDS)}))::integer as "minuteLeft",
      ceil(${DAY_SECONDS} - extract(epoch from now() - ${startOf(DAY_SECONDS)}))::integer as "dayLeft"`;

/** Null: not counted, because an earlier limit was exceeded, or there is no organization. */
interface Counts {
  readonly minute: number;
  readonly day: number | null;
  readonly minuteOfAll: number | null;
  readonly dayOfAll: number | null;
  readonly minuteLeft: number;
  readonly dayLeft: number;
}

export async function countChange(
  on: pg.Pool | pg.PoolClient,
  { subject, organization }: Changer,
  { perMinute, perDay }: ChangeLimits,
): Promise<CountResult> {
  const values = [subject, organization ?? null, perMinute, perDay];
  const { minute, day, minuteOfAll, dayOfAll, minuteLeft, dayLeft } = await only<Counts>(on, COUNT, values);
  const refusal = (by: 'subject' | 'organization', seconds: number) =>
    ({ allowed: false, by, retryAfterSeconds: Math.max(1, seconds) }) as const;
  if (minute > perMinute) return refusal('subject', minuteLeft);
  if ((day ?? 0) > perDay) return refusal('subject', dayLeft);
  if ((minuteOfAll ?? 0) > perMinute) return refusal('organization', minuteLeft);
  if ((dayOfAll ?? 0) > perDay) return refusal('organization', dayLeft);
  return { allowed: true };
}

const COUNT_EVENT = sql('count_event')`${count('$1::text', MINUTE_SECONDS, '')}`;

/** Counts one event of the subject. Returns the count of the current minute. */
export async function countEvent(pool: pg.Pool, subject: string): Promise<number> {
  return (await only<{ changes: number }>(pool, COUNT_EVENT, [subject])).changes;
}
