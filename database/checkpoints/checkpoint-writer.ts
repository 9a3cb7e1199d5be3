import type pg from 'pg';
import { CHECKPOINT_LOCK } from '../connection/advisory-locks.ts';
import { inTransaction, only, run, sql } from '../connection/connection-pool.ts';
import { databaseClock } from '../connection/database-clock.ts';
import { ENTRY_LINE } from '../ledger/ledger-entries.ts';
import {
  type Checkpoint,
  type CheckpointRun,
  FIRST_HASH,
  MOST_ENTRIES,
  nextHash,
  signCheckpoint,
} from './checkpoints.ts';

/** Bounds of one transaction, so that it takes no longer than that of a request. */
const AT_ONCE = { accounts: 2_000, entries: 50_000 };
/** Bound of one run. The next run does the rest. */
const MOST_TRANSACTIONS = 200;

const PAGE_END = sql('ledger_checkpoints_page')`
  select max(organization_id) as last from (
      select organization_id from accounts where organization_id > $1 order by organization_id limit ${AT_ONCE.accounts}
    ) page`;
/**
 * Finds organizations whose newest checkpoint is old enough, or has too many entries after it. One
 * of the future was written while PostgreSQL's clock was ahead: it must keep none from following.
 */
const DUE = sql('ledger_checkpoints_due')`
    select a.organization_id, a.sequence::float8 as sequence, coalesce(c.sequence, 0)::float8 as after, c.hash,
      coalesce(c.balance_nano_usd, 0)::text as balance, coalesce(c.total_credits_nano_usd, 0)::text as credits
    from accounts a left join lateral (
      select * from ledger_checkpoints c where c.organization_id = a.organization_id order by c.sequence desc limit 1
    ) c on true
    where a.organization_id > $2 and a.organization_id <= $3 and a.sequence > coalesce(c.sequence, 0)
      and (c.created_at is null or c.created_at <= to_timestamp($1::float8 / 1000) or c.created_at > to_timestamp($4::float8 / 1000)
        or a.sequence - c.sequence > ${MOST_ENTRIES})
    order by a.organization_id`;
const DIGEST = sql('ledger_checkpoint_digest')`
    select coalesce(sum(x.amount_nano_usd), 0)::text as amounts,
      coalesce(sum(x.amount_nano_usd) filter (where x.kind = 'credit'), 0)::text as credits,
      sha256(convert_to(string_agg(${ENTRY_LINE}, E'\\n' order by x.sequence), 'UTF8')) as digest
    from ledger_entries x where x.organization_id = $1 and x.sequence > $2 and x.sequence <= $3`;
const INSERT = sql('insert_ledger_checkpoint')`
    insert into ledger_checkpoints (organization_id, sequence, balance_nano_usd, total_credits_nano_usd, previous_sequence, hash, created_at,
      public_key, signature)
    values ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), $8, $9)`;
/** Lock that lets one process at a time write checkpoints. */
const TRY_LOCK = sql('try_checkpoint_lock')`select pg_try_advisory_xact_lock(${CHECKPOINT_LOCK}) as mine`;

interface Due {
  readonly organization_id: string;
  readonly sequence: number;
  readonly after: number;
  readonly hash: Buffer | null;
  readonly balance: string;
  readonly credits: string;
}

/**
 * Writes checkpoints for every organization that has new entries and no recent checkpoint, several
 * if there are many entries. Resolves with the number written; 0 if another process is writing.
 */
export async function writeCheckpoints(pool: pg.Pool, work: CheckpointRun): Promise<number> {
  let written = 0;
  let after: string | undefined = '';
  for (let transactions = 0; after !== undefined && transactions < MOST_TRANSACTIONS; transactions++) {
    const from: string = after;
    const done = await inTransaction(pool, 'begin', (client) => writePage(client, from, work));
    written += done.written;
    after = done.after;
  }
  return written;
}

/** Writes the checkpoints of one page. `after`: the start of the next page. */
async function writePage(
  client: pg.PoolClient,
  from: string,
  work: CheckpointRun,
): Promise<{ written: number; after: string | undefined }> {
  const { mine } = await only<{ mine: boolean }>(client, TRY_LOCK, []);
  const { last } = await only<{ last: string | null }>(client, PAGE_END, [from]);
  if (!mine || last === null) return { written: 0, after: undefined };
  const nowMs = await databaseClock(client);
  let room = AT_ONCE.entries;
  let written = 0;
  let reached = from;
  for (const due of await run<Due>(client, DUE, [nowMs - work.everyMs, from, last, nowMs])) {
    let stands: Standing = {
      sequence: due.after,
      hash: due.hash ?? FIRST_HASH,
      balanceNanoUsd: BigInt(due.balance),
      totalCreditsNanoUsd: BigInt(due.credits),
    };
    while (stands.sequence < due.sequence) {
      // This organization has many entries, so the next transaction continues with it.
      if (room <= 0) return { written, after: reached };
      const upTo = Math.min(stands.sequence + MOST_ENTRIES, due.sequence);
      room -= upTo - stands.sequence;
      stands = await write(client, due.organization_id, stands, upTo, { nowMs, ...work });
      written += 1;
    }
    reached = due.organization_id;
  }
  return { written, after: last };
}

type Standing = Pick<Checkpoint, 'sequence' | 'hash' | 'balanceNanoUsd' | 'totalCreditsNanoUsd'>;

/** Writes a checkpoint, without a lock: entries up to the account's sequence never change. */
async function write(
  client: pg.PoolClient,
  organizationId: string,
  before: Standing,
  upTo: number,
  { privateKey, nowMs }: CheckpointRun & { readonly nowMs: number },
): Promise<Standing> {
  const values = [organizationId, before.sequence, upTo];
  const sums = await only<{ amounts: string; credits: string; digest: Buffer | null }>(client, DIGEST, values);
  const checkpoint = signCheckpoint(
    {
      organizationId,
      sequence: upTo,
      balanceNanoUsd: before.balanceNanoUsd + BigInt(sums.amounts),
      totalCreditsNanoUsd: before.totalCreditsNanoUsd + BigInt(sums.credits),
      previousSequence: before.sequence,
      hash: nextHash(before.hash, sums.digest ?? Buffer.alloc(0)),
      createdAtMs: nowMs,
    },
    privateKey,
  );
  const { balanceNanoUsd, totalCreditsNanoUsd, previousSequence, hash, publicKey, signature } = checkpoint;
  const row = [
    organizationId,
    upTo,
    balanceNanoUsd,
    totalCreditsNanoUsd,
    previousSequence,
    hash,
    nowMs,
    publicKey,
    signature,
  ];
  await run(client, INSERT, row);
  return checkpoint;
}
