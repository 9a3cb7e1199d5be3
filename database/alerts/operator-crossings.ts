import type pg from 'pg';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { DEAD_LETTERS } from '../process-reports/database-figures.ts';
import { REPORT_FRESH_MS } from '../process-reports/report.ts';
import { isAlone } from './crossings.ts';
import { addMessages, lockOutbox, type MessageContent, type NewMessage } from './outbox.ts';

/** Condition of a top-up of which operators are told. An event on its way has arrived by then. */
export const EVENT_MISSED = "event_missed_at between now() - interval '1 day' and now() - interval '10 minutes'";

/**
 * Reports conditions to operators. All losses are one condition, which ends after an hour without a
 * new one. All payments without an event are another, which ends a day after the last one was
 * missed, or when the events come.
 * A failure for lack of funds stays in a process's report for five minutes or until another
 * failure. Because it may come and go with each request, it is reported at most once an hour. An
 * unknown service tier stays in the report for an hour, and is reported at most once a day for each
 * model. Differences from the model catalogue are reported again when they change, each at most
 * once a day: otherwise dashboards with different files would report alternately.
 */
const CROSS = sql('cross_operator_alerts')`
  with fresh as materialized (
      select report from gateway_processes where reported_at > now() - ${REPORT_FRESH_MS} * interval '1 millisecond'
    ), current as materialized (
      select 'ledger.losses' as kind, '' as subject, jsonb_build_object('count', count(*), 'nano_usd', sum(amount_nano_usd)::text) as content
      from losses where created_at > now() - interval '1 hour' having count(*) > 0
      union all
      select 'ledger.dead_letters', '', jsonb_build_object('count', n) from (select ${DEAD_LETTERS} as n) u where n > 0
      union all
      select 'spool.waiting', '', jsonb_build_object('charges', sum((report #>> '{waitingCharges,count}')::bigint))
      from fresh having sum((report #>> '{waitingCharges,count}')::bigint) > 0
      union all
      select 'payments.no_event', '', jsonb_build_object('count', count(*))
      from top_ups where ${EVENT_MISSED} having count(*) > 0
      union all
      select distinct 'provider.out_of_funds', left(p.key, 300), jsonb_build_object('provider', left(p.key, 300))
      from fresh cross join jsonb_each(report -> 'providers') p where p.value #>> '{lastFailure,account}' = 'funds'
      union all
      select 'models.unknown_tier', left(t.key, 300), jsonb_build_object('model', left(t.key, 300), 'tier', min(left(t.value #>> '{}', 64)))
      from fresh cross join jsonb_each(report -> 'unknownTiers') t group by left(t.key, 300)
      union all
      select 'models.check', $1::text, jsonb_build_object('count', $2::integer, 'models', $3::text) where $1::text is not null
    ), ended as (
      delete from alert_states a where a.organization_id = ''
        and not exists (select from current c where (c.kind, c.subject) = (a.kind, a.subject))
        and a.since <= now() - case when a.kind in ('models.check', 'models.unknown_tier') then interval '1 day'
          when a.kind = 'provider.out_of_funds' then interval '1 hour' else interval '0' end
    ), begun as (
      insert into alert_states (organization_id, kind, subject) select '', kind, subject from current
      on conflict do nothing returning kind, subject
    )
    select kind, c.content from begun join current c using (kind, subject) order by 1, subject`;

const RECENT_TEST = sql('recent_test_of_operators_alerts')`
  select from outbox where organization_id is null and kind = 'operators.test'
    and created_at > now() - interval '1 minute' limit 1`;

/** Differences of this dashboard's configuration from the model catalogue. */
export interface ModelDifferences {
  /** The same for the same differences. */
  readonly fingerprint: string;
  readonly count: number;
  /** Names of the first models. */
  readonly models: string;
}

/** Adds a mail for each condition that has begun. Returns the number of mails to send. */
export async function reportOperatorCrossings(
  pool: pg.Pool,
  emails: readonly string[],
  differences: ModelDifferences | undefined,
): Promise<number> {
  return inTransaction(pool, 'begin', async (client) => {
    if (!(await isAlone(client))) return 0;
    const crossings = await run<{ kind: string; content: MessageContent }>(client, CROSS, [
      differences?.fingerprint ?? null,
      differences?.count ?? null,
      differences?.models ?? null,
    ]);
    const messages = crossings.flatMap((crossing) =>
      emails.map((receiver): NewMessage => ({ ...crossing, channel: 'mail', receiver })),
    );
    return addMessages(client, messages);
  });
}

/** Sends a test to all receivers of operators' alerts, at most once a minute. Returns how many. */
export async function sendOperatorsTest(pool: pg.Pool, emails: readonly string[]): Promise<number> {
  return inTransaction(pool, 'begin', async (client) => {
    await lockOutbox(client, '');
    if ((await run(client, RECENT_TEST, [])).length > 0) return 0;
    return addMessages(
      client,
      emails.map((receiver): NewMessage => ({ channel: 'mail', receiver, kind: 'operators.test', content: {} })),
    );
  });
}
