import type pg from 'pg';
import type { LedgerEntryView } from '#contract/money.ts';
import { MINUTE_MS } from '#core/clock.ts';
import { pageOf } from '#core/page-of.ts';
import { STRIPE, THE_OPERATOR } from '../audit/audit.ts';
import { records, run, type Statement, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';

export interface LedgerQuery {
  readonly organizationId: string;
  /** True: the operator who gave a credit is not named. */
  readonly forCustomer: boolean;
  readonly kind?: 'credit' | 'charge';
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
  /** Sequence number. Only older entries are returned. */
  readonly before?: number;
  readonly limit: number;
}

export interface LedgerPage {
  /** Newest first. */
  readonly entries: readonly LedgerEntryView[];
  /** Value of `before` for the next, older page. Absent on the last one. */
  readonly next?: number;
}

/**
 * Finds the sequence number of an entry by time, by bisection. Entries are numbered without gaps in
 * the order of commits. That is the order of their times, except for transactions that waited for
 * each other. So a slightly wider range is found, and then filtered exactly.
 */
const BISECT = sql('ledger_sequence_at')`
  with recursive halving (low, high) as (
      select 1::bigint, a.sequence + 1 from accounts a where a.organization_id = $1
      union all
      select case when e.is_before then h.middle + 1 else h.low end, case when e.is_before then h.high else h.middle end
      from (select low, high, (low + high) / 2 as middle from halving where low < high) h
      cross join lateral (
        select e.created_at < to_timestamp($2::double precision / 1000) as is_before
        from ledger_entries e where e.organization_id = $1 and e.sequence = h.middle
      ) e
    )
    select low::text as sequence from halving where low = high`;
/** Largest disorder of entries' times. No settlement waits longer (connection-pool.ts). */
const DISORDER_MS = MINUTE_MS;

const LIST = listStatement('ledger_page', 'true');
const LIST_CREDITS = listStatement('ledger_page_of_credits', `kind = 'credit'`);
const LIST_CHARGES = listStatement('ledger_page_of_charges', `kind = 'charge'`);

function listStatement(name: string, condition: string): Statement {
  return sql(name)`
    select sequence, kind, amount_nano_usd as "amountNanoUsd", balance_nano_usd as "balanceNanoUsd",
        generation_id as "generationId", note, reference, actor, ${milliseconds('created_at')} as "atMs"
      from ledger_entries
      where organization_id = $1 and sequence >= $2 and sequence < $3 and ${condition}
        and ($4::double precision is null or created_at >= to_timestamp($4::double precision / 1000))
        and ($5::double precision is null or created_at < to_timestamp($5::double precision / 1000))
      order by sequence desc limit $6`;
}

/** Reads generations by id, which touches only the partitions of their time. */
const CHARGED_FOR = sql('charged_for')`
  select g.id, g.model, g.key_id, k.name as key_name from generations g left join keys k on k.id = g.key_id
    where g.id = any ($1)`;

interface EntryRow extends Omit<LedgerEntryView, 'sequence' | 'model' | 'keyId' | 'keyName'> {
  readonly sequence: string;
}

interface ChargedRow {
  readonly id: string;
  readonly model: string;
  readonly key_id: string;
  readonly key_name: string | null;
}

const MOST = '9223372036854775807';

export async function ledgerPage(pool: pg.Pool, query: LedgerQuery): Promise<LedgerPage> {
  const { organizationId, forCustomer, kind, fromMs, toMs, before, limit } = query;
  const [first, end] = await Promise.all([
    fromMs === undefined ? '1' : sequenceAt(pool, organizationId, fromMs - DISORDER_MS),
    toMs === undefined ? MOST : sequenceAt(pool, organizationId, toMs + DISORDER_MS),
  ]);
  const bound = before === undefined || BigInt(end) < BigInt(before) ? end : String(before);
  const statement = kind === undefined ? LIST : kind === 'credit' ? LIST_CREDITS : LIST_CHARGES;
  const values = [organizationId, first, bound, fromMs ?? null, toMs ?? null, limit + 1];
  const rows = await records<EntryRow>(pool, statement, values);
  const { rows: page, ...rest } = pageOf(rows, limit, ({ sequence }) => Number(sequence));
  const charged = await chargedFor(pool, page);
  return {
    entries: page
      .map((row) => entryView(row, charged.get(row.generationId ?? '')))
      .map((entry) => (forCustomer && isOperator(entry) ? { ...entry, actor: THE_OPERATOR } : entry)),
    ...rest,
  };
}

function isOperator({ actor }: LedgerEntryView): boolean {
  return actor !== undefined && actor !== STRIPE;
}

/** Finds the sequence number of the first entry at or after a moment. */
async function sequenceAt(pool: pg.Pool, organizationId: string, moment: number): Promise<string> {
  const [row] = await run<{ sequence: string }>(pool, BISECT, [organizationId, moment]);
  return row?.sequence ?? '1';
}

async function chargedFor(pool: pg.Pool, rows: readonly EntryRow[]): Promise<ReadonlyMap<string, ChargedRow>> {
  const ids = rows.flatMap(({ generationId }) => generationId ?? []);
  if (ids.length === 0) return new Map();
  const charged = await run<ChargedRow>(pool, CHARGED_FOR, [ids]);
  return new Map(charged.map((row) => [row.id, row]));
}

function entryView(row: EntryRow, charged: ChargedRow | undefined): LedgerEntryView {
  const entry = { ...row, sequence: Number(row.sequence) };
  if (charged === undefined) return entry;
  return { ...entry, model: charged.model, keyId: charged.key_id, keyName: charged.key_name ?? charged.key_id };
}
