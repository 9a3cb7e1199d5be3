/**
 * SQL that reads the sums of the request log: by hours, or from as few rows as possible. $1 is the
 * organization; the session is in UTC.
 */

const COLUMNS = 'key_id, model, code, requests, prompt_tokens, completion_tokens, cost_nano_usd, first_event_buckets';
const SUMMED_UNTIL = '(select summed_until from request_days)';

/** SQL for the timestamp of a parameter in Unix milliseconds. */
export function moment(parameter: string): string {
  return `to_timestamp(${parameter}::double precision / 1000)`;
}

/** `start` and `end` are moments in SQL. */
export function loggedHours(start: string, end: string): string {
  return `select hour, ${COLUMNS} from request_stats where organization_id = $1 and hour >= ${start} and hour < ${end}`;
}

/**
 * SQL for the same sums from fewer rows: whole days from the daily sums
 * (database/schema/tables.sql), the rest by hours.
 */
export function loggedSums(start: string, end: string): string {
  const firstDay = `date_trunc('day', ${start} + interval '1 day' - interval '1 microsecond')`;
  const endDay = `least(date_trunc('day', ${end}), ${SUMMED_UNTIL}::timestamptz)`;
  return `select day::timestamptz as hour, ${COLUMNS} from request_day_stats
      where organization_id = $1 and day >= ${firstDay}::date and day < (${endDay})::date
    union all ${loggedHours(start, `least(${firstDay}, ${end})`)}
    union all ${loggedHours(`greatest(${firstDay}, ${endDay})`, end)}`;
}
