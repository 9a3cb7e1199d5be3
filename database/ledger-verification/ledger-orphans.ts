import { setTimeout as sleep } from 'node:timers/promises';
import { idFloor } from '#core/ids.ts';
import type { PatientSession } from '../connection/patient-session.ts';
import type { LedgerFindings } from './ledger-findings.ts';
import type { LedgerDifference } from './ledger-report.ts';

type Difference = Omit<LedgerDifference, 'rule'>;

/** Finds organizations with entries but no account by skipping along the primary key. */
const WITHOUT_ACCOUNT = `
  with recursive one as (
    (select organization_id from ledger_entries order by organization_id limit 1)
    union all
    select (
      select e.organization_id from ledger_entries e where e.organization_id > one.organization_id order by e.organization_id limit 1
    ) from one where one.organization_id is not null
  )
  select organization_id as subject, 'an account' as expected, 'none' as found
  from one where organization_id is not null and not exists (select from accounts a where a.organization_id = one.organization_id)
  limit 100`;

/** Stored responses whose charge is missing. */
const SEALED_WITHOUT_CHARGE = `
  select k.generation_id as subject, 'a generation' as expected, 'a stored response of ' || k.organization_id as found
  from idempotency_keys k
  where k.finished_at is not null and k.generation_id >= $1 and not exists (select from generations g where g.id = k.generation_id)
  limit 100`;

/** Accounts whose sum of undecided dead letters is another. */
const OWED_OTHERWISE = `
  select a.organization_id as subject, coalesce(d.due, 0)::text as expected, a.dead_letters_nano_usd::text as found
  from accounts a left join (
    select organization_id, sum(due_nano_usd) as due from dead_letters where resolution is null and delivered group by 1
  ) d using (organization_id)
  where coalesce(d.due, 0) <> a.dead_letters_nano_usd limit 100`;

/** Rows that one statement reads: the next ids after `$1`. */
const WALK = 20_000;
const GENERATIONS = `
  with piece as materialized (
    select g.id, g.organization_id, g.cost_nano_usd from generations g where g.id > $1 order by g.id limit ${WALK}
  )
  select (select count(*) from piece)::float8 as rows, (select max(id) from piece) as last, (
    select json_agg(json_build_object('subject', p.id, 'expected', p.organization_id || ' pays ' || p.cost_nano_usd, 'found', 'no charge'))
    from (select p.* from piece p where not exists (select from ledger_entries e where e.generation_id = p.id) limit 100) p
  ) as differences`;
const LOGGED = `
  with piece as materialized (
    select l.generation_id as id, l.organization_id, l.cost_nano_usd from request_log l
    where l.generation_id > $1 order by l.generation_id limit ${WALK}
  )
  select (select count(*) from piece)::float8 as rows, (select max(id) from piece) as last, (
    select json_agg(json_build_object('subject', p.id, 'expected', 'a generation, or a loss',
      'found', 'a request of ' || p.organization_id || ' for ' || p.cost_nano_usd))
    from (
      select p.* from piece p
      where p.cost_nano_usd is not null and not exists (select from generations g where g.id = p.id)
        and not exists (select from losses l where l.generation_id = p.id)
        and not exists (select from dead_letters d where d.generation_id = p.id)
      limit 100
    ) p
  ) as differences`;

interface Piece {
  readonly rows: number;
  readonly last: string | null;
  readonly differences: readonly Difference[] | null;
}

/**
 * Finds orphans: entries, generations, requests and stored responses that no organization's ledger
 * accounts for. `fromId`: generations with smaller ids are archived or already verified.
 */
export async function findOrphans(session: PatientSession, findings: LedgerFindings, fromId: string): Promise<void> {
  findings.addAll('every entry belongs to an account', await session.read<Difference>(WITHOUT_ACCOUNT));
  findings.addAll('an account has what its undecided dead letters owe', await session.read<Difference>(OWED_OTHERWISE));
  findings.generations = await walk(
    GENERATIONS,
    'every generation is charged once, and every charge has its generation',
  );
  await walk(LOGGED, 'every request that was logged with a cost has its generation');
  findings.addAll('every stored response was charged', await session.read<Difference>(SEALED_WITHOUT_CHARGE, [fromId]));

  async function walk(statement: string, rule: string): Promise<number> {
    let read = 0;
    for (let last: string | null = fromId; last !== null; ) {
      const [piece]: Piece[] = await session.read<Piece>(statement, [last]);
      findings.addAll(rule, piece?.differences ?? []);
      read += piece?.rows ?? 0;
      last = piece?.last ?? null;
    }
    return read;
  }
}

export interface Waiting {
  readonly deadLetters: number;
  readonly waitingCharges: number;
}

/** Longer than the 2 s between two reports of a process. */
const REPORTED_AGAIN_MS = 3_000;

/**
 * Counts dead letters and waiting charges. Reads twice: reports may lag behind commits. What a
 * killed process reported is left to its successor, which makes these charges or reports them.
 */
export async function countWaiting(session: PatientSession): Promise<Waiting> {
  const first = await countNow(session);
  if (first.waitingCharges === 0) return first;
  await sleep(REPORTED_AGAIN_MS);
  return countNow(session);
}

async function countNow(session: PatientSession): Promise<Waiting> {
  const [counts] = await session.read<Waiting>(
    `select (select count(*) from dead_letters where resolution is null)::float8 as "deadLetters",
       (select coalesce(sum((report -> 'waitingCharges' ->> 'count')::bigint), 0) from gateway_processes as process
         where not exists (select from gateway_processes as successor where successor.host = process.host
           and successor.worker = process.worker and successor.started_at > process.reported_at))::float8 as "waitingCharges"`,
  );
  return counts ?? { deadLetters: 0, waitingCharges: 0 };
}

/** Finds the oldest month that is not archived. Archiving detaches partitions, oldest first. */
export async function findKept(session: PatientSession): Promise<{ fromId: string; fromDay: string }> {
  const [{ month } = { month: null }] = await session.read<{ month: string | null }>(
    `select min(substring(inhrelid::regclass::text from 'generations_(\\d{4}_\\d{2})"?$')) as month
     from pg_inherits where inhparent = 'generations'::regclass`,
  );
  if (month === null) return { fromId: '', fromDay: '' };
  const firstMs = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1, 1);
  // Skips the first day, because ids and days disagree around midnight.
  const secondDay = new Date(firstMs + 86_400_000).toISOString().slice(0, 10);
  return { fromId: idFloor('gen', firstMs), fromDay: secondDay };
}
