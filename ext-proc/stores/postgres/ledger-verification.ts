import type pg from 'pg';
import type { LedgerDifference, LedgerReport } from '../administration.ts';
import { inTransaction, READ_WHOLE } from './connection-pool.ts';
import { asStoreError } from './unavailable.ts';

/** Reads everything once; a large ledger takes its time, and the gateway goes on meanwhile. */
const TIMEOUT_MS = 600_000;
const MAX_DIFFERENCES = 100;

/** Each rule returns what contradicts it: subject, what it should be, what is there. */
const RULES: readonly (readonly [rule: string, sql: string])[] = [
  [
    'the balance is the sum of the entries',
    `select a.organization_id as subject, coalesce(sum(e.amount_nano_usd), 0)::text as expected, a.balance_nano_usd::text as found
     from accounts a left join ledger_entries e on e.organization_id = a.organization_id
     group by a.organization_id having a.balance_nano_usd <> coalesce(sum(e.amount_nano_usd), 0)`,
  ],
  [
    'total credits and total usage are the sums of their entries',
    `select a.organization_id as subject, s.credits || ' and ' || s.charges as expected,
       a.total_credits_nano_usd || ' and ' || a.total_usage_nano_usd as found
     from accounts a cross join lateral (
       select coalesce(sum(amount_nano_usd) filter (where kind = 'credit'), 0) as credits,
         coalesce(-sum(amount_nano_usd) filter (where kind = 'charge'), 0) as charges
       from ledger_entries e where e.organization_id = a.organization_id
     ) s
     where a.total_credits_nano_usd <> s.credits or a.total_usage_nano_usd <> s.charges`,
  ],
  [
    'entries are numbered without gaps up to the sequence of the account',
    `select a.organization_id as subject, a.sequence || ' entries' as expected,
       count(e.sequence) || ' entries up to ' || coalesce(max(e.sequence), 0) as found
     from accounts a left join ledger_entries e on e.organization_id = a.organization_id
     group by a.organization_id
     having a.sequence <> count(e.sequence) or a.sequence <> coalesce(max(e.sequence), 0)`,
  ],
  [
    'every entry carries the balance after it',
    `select organization_id || ' entry ' || sequence as subject, running::text as expected, balance_nano_usd::text as found
     from (
       select organization_id, sequence, balance_nano_usd,
         sum(amount_nano_usd) over (partition by organization_id order by sequence rows unbounded preceding) as running
       from ledger_entries
     ) e where balance_nano_usd <> running`,
  ],
  [
    'every entry belongs to an account',
    `select distinct e.organization_id as subject, 'an account' as expected, 'none' as found
     from ledger_entries e where not exists (select from accounts a where a.organization_id = e.organization_id)`,
  ],
  [
    'every generation is charged once, and every charge has its generation',
    `select coalesce(g.id, e.generation_id) as subject,
       coalesce(g.organization_id || ' pays ' || g.cost_nano_usd, 'a generation') as expected,
       coalesce(e.organization_id || ' pays ' || -e.amount_nano_usd, 'no charge') as found
     from generations g full join (select * from ledger_entries where kind = 'charge') e on e.generation_id = g.id
     where g.id is null or e.generation_id is null
       or g.organization_id <> e.organization_id or g.cost_nano_usd <> -e.amount_nano_usd`,
  ],
  [
    'daily usage is the sum of the generations',
    `select concat_ws(' ', organization_id, day, key_id, model) as subject,
       coalesce(concat_ws(' ', g.requests, g.prompt, g.completion, g.cached, g.reasoning, g.cost), 'nothing') as expected,
       coalesce(concat_ws(' ', u.requests, u.prompt_tokens, u.completion_tokens, u.cached_tokens, u.reasoning_tokens, u.cost_nano_usd),
         'nothing') as found
     from daily_usage u full join (
       select organization_id, day, key_id, model, count(*) as requests, sum(prompt_tokens) as prompt, sum(completion_tokens) as completion,
         sum(cached_tokens) as cached, sum(reasoning_tokens) as reasoning, sum(cost_nano_usd) as cost
       from generations group by organization_id, day, key_id, model
     ) g using (organization_id, day, key_id, model)
     where (u.requests, u.prompt_tokens, u.completion_tokens, u.cached_tokens, u.reasoning_tokens, u.cost_nano_usd)
       is distinct from (g.requests, g.prompt, g.completion, g.cached, g.reasoning, g.cost)`,
  ],
  [
    "an organization's daily spend is the sum of its daily usage",
    `select organization_id || ' ' || day as subject, coalesce(u.cost, 0)::text as expected, coalesce(s.spent_nano_usd, 0)::text as found
     from organization_daily_spend s full join (
       select organization_id, day, sum(cost_nano_usd) as cost from daily_usage group by organization_id, day
     ) u using (organization_id, day)
     where s.spent_nano_usd is distinct from u.cost`,
  ],
  [
    "a key's daily spend is the sum of its daily usage",
    `select key_id || ' ' || day as subject, coalesce(u.cost, 0)::text as expected, coalesce(s.spent_nano_usd, 0)::text as found
     from key_daily_spend s full join (
       select key_id, day, sum(cost_nano_usd) as cost from daily_usage group by key_id, day
     ) u using (key_id, day)
     where s.spent_nano_usd is distinct from u.cost`,
  ],
];

const COUNTS = `select (select count(*) from accounts) as organizations, (select count(*) from ledger_entries) as entries,
  (select count(*) from generations) as generations, (select count(*) from dead_letters where resolution is null) as dead_letters`;

/** All rules on one snapshot, so that settlements going on meanwhile are no differences. */
export async function verifyLedger(pool: pg.Pool): Promise<LedgerReport> {
  return inTransaction(pool, 'begin isolation level repeatable read read only', async (client) => {
    await client.query(`set local statement_timeout = ${TIMEOUT_MS}; ${READ_WHOLE}`);
    const [counts] = await read<Record<'organizations' | 'entries' | 'generations' | 'dead_letters', string>>(
      client,
      COUNTS,
    );
    const differences: LedgerDifference[] = [];
    for (const [rule, sql] of RULES) {
      const rows = await read<Omit<LedgerDifference, 'rule'>>(client, `${sql} order by 1 limit ${MAX_DIFFERENCES}`);
      differences.push(
        ...rows.map((row) => ({ rule, subject: row.subject, expected: row.expected, found: row.found })),
      );
    }
    return {
      organizations: Number(counts?.organizations),
      entries: Number(counts?.entries),
      generations: Number(counts?.generations),
      deadLetters: Number(counts?.dead_letters),
      differences,
    };
  });
}

async function read<R extends object>(client: pg.PoolClient, text: string): Promise<R[]> {
  // The connection's own time-out is meant for requests. `query_timeout` is read from the statement by pg, but missing from its types.
  const statement = { text, query_timeout: TIMEOUT_MS + 1_000 };
  try {
    return (await client.query<R>(statement)).rows;
  } catch (error) {
    throw asStoreError(error);
  }
}
