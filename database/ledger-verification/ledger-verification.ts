import type pg from 'pg';
import { idFloor } from '#core/ids.ts';
import { CHECKPOINT_COLUMNS, checkpointOf } from '../checkpoints/checkpoint-rows.ts';
import { type Checkpoint, FIRST_HASH } from '../checkpoints/checkpoints.ts';
import { patiently } from '../connection/patient-session.ts';
import { LedgerFindings } from './ledger-findings.ts';
import {
  type Begin,
  compareSignature,
  REACHES,
  type Verification,
  verifyOrganization,
} from './ledger-of-organization.ts';
import { countWaiting, findKept, findOrphans } from './ledger-orphans.ts';
import type { LedgerReport, VerifyOptions } from './ledger-report.ts';

const PAGE = 500;
const THE_BEGINNING: Begin = { sequence: 0, balanceNanoUsd: 0n, creditsNanoUsd: 0n, hash: FIRST_HASH, firstDay: '' };
/** Longest time from a request's arrival (in its id) to its charge, unless that waits. */
const LONGEST_REQUEST_MS = 2 * 3_600_000;

/**
 * Verifies the ledger, organization by organization in bounded pieces, so that any size can be
 * verified while the gateway runs. Memory holds the daily sums of one organization at a time.
 */
export async function verifyLedger(pool: pg.Pool, { before, trusted }: VerifyOptions = {}): Promise<LedgerReport> {
  return patiently(pool, async (session) => {
    const findings = new LedgerFindings();
    const kept = await findKept(session);
    const on: Verification = { session, findings, kept, ...(trusted ? { trusted } : {}) };
    const exported = before?.kind === 'exported' ? newestOf(before.checkpoints) : undefined;
    if (before?.kind === 'exported') await compareExported(on, before.checkpoints);
    const momentMs = before?.kind === 'moment' ? before.ms : undefined;
    for (let last = ''; ; ) {
      const page = await session.read<AccountRow>(PAGE_OF_ACCOUNTS, [last]);
      const ids = page.map(({ id }) => id);
      const checkpoints = exported ?? (await newestUntil(on, ids, momentMs ?? Number.NEGATIVE_INFINITY));
      for (const account of page) {
        const checkpoint = checkpoints.get(account.id);
        if (checkpoint && !exported) compareSignature(on, checkpoint);
        if (!isAsThen(account, checkpoint)) await verifyOrganization(on, account.id, beginAfter(checkpoint));
      }
      findings.organizations += ids.length;
      const end = ids.at(-1);
      if (end === undefined) break;
      last = end;
    }
    await findOrphans(session, findings, orphansFrom(kept.fromId, momentMs ?? oldestOf(exported)));
    const { organizations, entries, generations } = findings;
    return {
      organizations,
      entries,
      generations,
      ...(await countWaiting(session)),
      differences: findings.differences(),
    };
  });
}

interface AccountRow {
  readonly id: string;
  readonly sequence: number;
  readonly balance: string;
  readonly credits: string;
}

const PAGE_OF_ACCOUNTS = `select organization_id as id, sequence::float8 as sequence, balance_nano_usd::text as balance,
    total_credits_nano_usd::text as credits
  from accounts where organization_id > $1 order by 1 limit ${PAGE}`;

/** True if nothing was booked after the checkpoint. */
function isAsThen({ sequence, balance, credits }: AccountRow, checkpoint: Checkpoint | undefined): boolean {
  if (checkpoint?.sequence !== sequence) return false;
  return balance === String(checkpoint.balanceNanoUsd) && credits === String(checkpoint.totalCreditsNanoUsd);
}

function beginAfter(checkpoint: Checkpoint | undefined): Begin {
  if (!checkpoint) return THE_BEGINNING;
  const { sequence, balanceNanoUsd, totalCreditsNanoUsd, hash, createdAtMs } = checkpoint;
  // Sums of the checkpoint's own day would include entries before it.
  const firstDay = new Date(createdAtMs + 86_400_000).toISOString().slice(0, 10);
  return { sequence, balanceNanoUsd, creditsNanoUsd: totalCreditsNanoUsd, hash, firstDay };
}

async function newestUntil(
  { session }: Verification,
  ids: readonly string[],
  ms: number,
): Promise<ReadonlyMap<string, Checkpoint>> {
  if (!Number.isFinite(ms)) return new Map();
  const rows = await session.read(
    `select ${CHECKPOINT_COLUMNS} from unnest($1::text[]) o (id) cross join lateral (
       select * from ledger_checkpoints c where c.organization_id = o.id and c.created_at <= to_timestamp($2::float8 / 1000)
       order by c.sequence desc limit 1
     ) c`,
    [ids, ms],
  );
  return new Map(rows.map(checkpointOf).map((checkpoint) => [checkpoint.organizationId, checkpoint]));
}

/**
 * Compares exported checkpoints and their entries with the database. Older ones count too: a newer
 * one may have been made after the past was changed and the older ones were deleted.
 */
async function compareExported(on: Verification, exported: readonly Checkpoint[]): Promise<void> {
  const { session, findings } = on;
  for (let first = 0; first < exported.length; first += PAGE) {
    const page = exported.slice(first, first + PAGE);
    const kept = await session.read<KeptRow>(KEPT, [
      page.map(({ organizationId }) => organizationId),
      page.map(({ sequence }) => sequence),
    ]);
    for (const [i, checkpoint] of page.entries()) {
      compareSignature(on, checkpoint);
      const { organizationId, sequence, hash, balanceNanoUsd } = checkpoint;
      const subject = `${organizationId} entry ${sequence}`;
      const there = kept[i];
      const entries = there?.entries ?? 0;
      if (entries < sequence || there?.balance !== String(balanceNanoUsd))
        findings.add(
          REACHES,
          subject,
          `a balance of ${balanceNanoUsd}`,
          `${entries} entries, ${there?.balance ?? 'none'}`,
        );
      if (there?.hash !== hash.toString('hex'))
        findings.add(
          'checkpoints are kept as they were exported',
          subject,
          hash.toString('hex'),
          there?.hash ?? 'none',
        );
    }
  }
}

interface KeptRow {
  readonly balance: string | null;
  readonly hash: string | null;
  readonly entries: number | null;
}

const KEPT = `select (select balance_nano_usd::text from ledger_entries e where e.organization_id = o.id and e.sequence = o.sequence) as balance,
    (select encode(hash, 'hex') from ledger_checkpoints c where c.organization_id = o.id and c.sequence = o.sequence) as hash,
    (select sequence::float8 from accounts a where a.organization_id = o.id) as entries
  from unnest($1::text[], $2::bigint[]) with ordinality o (id, sequence, place) order by place`;

function newestOf(exported: readonly Checkpoint[]): ReadonlyMap<string, Checkpoint> {
  const newest = new Map<string, Checkpoint>();
  for (const checkpoint of exported)
    if (checkpoint.sequence > (newest.get(checkpoint.organizationId)?.sequence ?? 0))
      newest.set(checkpoint.organizationId, checkpoint);
  return newest;
}

function oldestOf(exported: ReadonlyMap<string, Checkpoint> | undefined): number | undefined {
  return (
    exported && [...exported.values()].reduce((oldest, { createdAtMs }) => Math.min(oldest, createdAtMs), Date.now())
  );
}

function orphansFrom(keptFrom: string, sinceMs: number | undefined): string {
  const from = sinceMs === undefined ? '' : idFloor('gen', sinceMs - LONGEST_REQUEST_MS);
  return from > keptFrom ? from : keptFrom;
}
