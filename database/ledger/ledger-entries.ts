import type { PatientSession } from '../connection/patient-session.ts';
import { chargeSql, tokenList } from './usage-columns.ts';

export interface RangeOfEntries {
  /** SHA-256 of the lines of its entries, in order. */
  readonly digest: Buffer;
  readonly credits: bigint;
  readonly amounts: bigint;
}

export type EntryDifference = readonly [rule: EntryRule, subject: string, expected: string, found: string];
export type EntryRule = 'running' | 'charge' | 'price' | 'hold';

export interface EntryRange {
  readonly organizationId: string;
  /** Exclusive. */
  readonly after: number;
  readonly upTo: number;
  readonly balanceBefore: bigint;
  /** Generations with smaller ids are archived. */
  readonly generationsFrom: string;
  /** Sequences of checkpoints in the range, in ascending order. */
  readonly checkpoints: readonly number[];
}

/** SQL of the text of an entry that is hashed. A change of it would invalidate every checkpoint. */
export const ENTRY_LINE = `json_build_array(x.sequence, x.kind, x.amount_nano_usd, x.balance_nano_usd, x.generation_id, x.note, x.reference,
  x.actor, (extract(epoch from x.created_at) * 1000000)::bigint)::text`;

const PIECE = `
  with e as materialized (
    select x.sequence, x.kind, x.amount_nano_usd as amount, x.balance_nano_usd as balance, x.generation_id,
      $4::numeric + sum(x.amount_nano_usd) over (order by x.sequence) as running,
      case when x.sequence <= $7::bigint then ${ENTRY_LINE} end as line
    from ledger_entries x where x.organization_id = $1::text and x.sequence > $2::bigint and x.sequence <= $3::bigint
  ), c as materialized (
    select e.sequence, e.amount, e.generation_id, g.id, g.organization_id as payer, g.key_id, g.model, g.day, g.cost_nano_usd as cost,
      g.hold_nano_usd as hold, ${tokenList((column) => `g.${column}`)},
      ${chargeSql('g')} as price,
      (select coalesce(sum(l.amount_nano_usd), 0) from losses l where l.generation_id = g.id and l.reason in ('over_hold', 'balance')) as lost
    from e left join generations g on g.id = e.generation_id
    where e.kind = 'charge' and e.generation_id >= $5::text
  ), d as (
    select 'running' as rule, $1::text || ' entry ' || sequence as subject, running::text as expected, balance::text as found
    from e where balance <> running
    union all
    select 'charge', generation_id, coalesce(payer || ' pays ' || cost, 'a generation'), $1::text || ' pays ' || -amount
    from c where id is null or payer <> $1::text or cost <> -amount
    union all
    select 'price', id, price::text, cost || ' charged and ' || lost || ' lost' from c where price <> cost + lost
    union all
    select 'hold', id, 'at most ' || hold, cost::text from c where cost > hold
    limit 400
  )
  select
    (select json_build_array(count(*), coalesce(max(sequence), 0), coalesce(sum(amount) filter (where kind = 'credit'), 0)::text,
      coalesce(sum(amount), 0)::text, count(*) filter (where kind = 'charge' and generation_id < $5::text)) from e) as sums,
    (select json_agg(json_build_array(rule, subject, expected, found)) from d) as differences,
    (select json_agg(json_build_array(concat_ws(' ', day, key_id, model), requests, ${tokenList()}, cost)) from (
      select day::text, key_id, model, count(*)::text as requests,
        ${tokenList((column) => `sum(${column})::text as ${column}`)}, sum(cost)::text as cost
      from c where id is not null group by day, key_id, model
    ) s) as usage,
    (select json_agg(json_build_array(range, digest, credits, amounts)) from (
      select width_bucket(sequence - 1, $6::bigint[]) as range,
        encode(sha256(convert_to(string_agg(line, E'\\n' order by sequence), 'UTF8')), 'hex') as digest,
        coalesce(sum(amount) filter (where kind = 'credit'), 0)::text as credits, sum(amount)::text as amounts
      from e where line is not null group by 1
    ) r) as ranges`;

interface PieceRow {
  readonly sums: readonly [entries: number, last: number, credits: string, amounts: string, archived: number];
  readonly differences: readonly EntryDifference[] | null;
  readonly usage: readonly (readonly [place: string, ...sums: string[]])[] | null;
  readonly ranges: readonly (readonly [range: number, digest: string, credits: string, amounts: string])[] | null;
}

/** Reads a range of at most about ten thousand entries. */
export async function readEntries(session: PatientSession, range: EntryRange) {
  const { organizationId, after, upTo, balanceBefore, generationsFrom, checkpoints } = range;
  const values = [organizationId, after, upTo, balanceBefore, generationsFrom, checkpoints, checkpoints.at(-1) ?? 0];
  const [row] = await session.read<PieceRow>(PIECE, values);
  if (!row) throw new Error('a select of sums gave no row');
  const [entries, last, credits, amounts, archived] = row.sums;
  const ranges = (row.ranges ?? []).map(([at, digest, credited, moved]): [number, RangeOfEntries] => [
    checkpoints[at] ?? 0,
    { digest: Buffer.from(digest, 'hex'), credits: BigInt(credited), amounts: BigInt(moved) },
  ]);
  return {
    entries,
    last,
    /** Sum of credits. Charges are negative amounts. */
    credits: BigInt(credits),
    amounts: BigInt(amounts),
    differences: row.differences ?? [],
    /** By day, key and model: requests, token kinds in the order of `tokenList`, cost. */
    usage: (row.usage ?? []).map(([place, ...sums]) => ({ place, sums: sums.map(BigInt) })),
    /** Number of charges whose generations are archived. */
    archived,
    /** Sums by the sequence of the checkpoint that ends the range. Empty ranges are left out. */
    ranges: new Map(ranges),
  };
}

export type EntryPiece = Awaited<ReturnType<typeof readEntries>>;
