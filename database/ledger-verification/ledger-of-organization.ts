import { checkpointsBetween } from '../checkpoints/checkpoint-rows.ts';
import { type Checkpoint, isSigned, nextHash } from '../checkpoints/checkpoints.ts';
import type { PatientSession } from '../connection/patient-session.ts';
import { type EntryPiece, type EntryRule, readEntries } from '../ledger/ledger-entries.ts';
import type { LedgerFindings } from './ledger-findings.ts';
import { compareUsage, type UsageSums } from './ledger-usage.ts';

/** State of an organization's ledger from which its verification begins. */
export interface Begin {
  readonly sequence: number;
  readonly balanceNanoUsd: bigint;
  readonly creditsNanoUsd: bigint;
  readonly hash: Buffer;
  /** First day whose sums are compared. Earlier days have entries before the start. Empty: all. */
  readonly firstDay: string;
}

export interface Verification {
  readonly session: PatientSession;
  readonly findings: LedgerFindings;
  /** Generations with ids below `fromId` are archived. From `fromDay` on none is. */
  readonly kept: { readonly fromId: string; readonly fromDay: string };
  /** Raw public keys with which checkpoints may be signed. Absent: any. */
  readonly trusted?: readonly Buffer[];
}

interface Walk {
  sequence: number;
  balance: bigint;
  credits: bigint;
  hash: Buffer;
  entries: number;
  archived: number;
  readonly usage: UsageSums;
}

/** Entries of one read. More than a checkpoint covers. */
const PIECE = 20_000;
const RULES: Readonly<Record<EntryRule, string>> = {
  running: 'every entry carries the balance after it',
  charge: 'every generation is charged once, and every charge has its generation',
  price: 'every generation costs what its tokens and prices say, less what was lost',
  hold: 'no generation costs more than its hold',
};
export const REACHES = 'the ledger reaches every checkpoint';
const NUMBERED = 'entries are numbered without gaps up to the sequence of the account';

/**
 * Verifies an organization. Entries never change, and all up to the account's sequence are
 * committed with it. So only the end is read in one snapshot of the database.
 */
export async function verifyOrganization(on: Verification, organizationId: string, begin: Begin): Promise<void> {
  const { session, findings, kept } = on;
  const { sequence, balanceNanoUsd: balance, creditsNanoUsd: credits, hash } = begin;
  const walk: Walk = { sequence, balance, credits, hash, entries: 0, archived: 0, usage: new Map() };
  const before = await readAccount(session, organizationId);
  if (before) await walkTo(on, organizationId, walk, before.sequence);
  await session.atOneMoment(async () => {
    const account = await readAccount(session, organizationId);
    if (!account) return;
    await walkTo(on, organizationId, walk, account.sequence);
    compareAccount(findings, account, walk, begin);
    const firstDay = walk.archived > 0 && kept.fromDay > begin.firstDay ? kept.fromDay : begin.firstDay;
    await compareUsage(session, findings, { organizationId, firstDay }, walk.usage);
  });
  findings.entries += walk.entries;
}

async function walkTo(on: Verification, organizationId: string, walk: Walk, end: number): Promise<void> {
  const { session, findings, kept } = on;
  while (walk.sequence < end) {
    const after = walk.sequence;
    const most = Math.min(after + PIECE, end);
    const checkpoints = await checkpointsBetween(session, organizationId, after, most);
    const upTo = checkpoints.at(-1)?.sequence ?? most;
    const sequences = checkpoints.map(({ sequence }) => sequence);
    const { balance: balanceBefore } = walk;
    const range = { organizationId, after, upTo, balanceBefore, generationsFrom: kept.fromId, checkpoints: sequences };
    const piece = await readEntries(session, range);
    for (const [rule, ...rest] of piece.differences) findings.add(RULES[rule], ...rest);
    compareCheckpoints(on, checkpoints, walk, piece);
    for (const { place, sums } of piece.usage) {
      const known = walk.usage.get(place);
      walk.usage.set(place, known ? known.map((sum, i) => sum + (sums[i] ?? 0n)) : sums);
    }
    walk.sequence = upTo;
    walk.entries += piece.entries;
    walk.archived += piece.archived;
    walk.balance += piece.amounts;
    walk.credits += piece.credits;
  }
}

/** Compares the checkpoints of a range. Leaves the hash of the last one in `walk`. */
function compareCheckpoints(
  on: Verification,
  checkpoints: readonly Checkpoint[],
  walk: Walk,
  { ranges }: EntryPiece,
): void {
  let { balance, credits } = walk;
  for (const checkpoint of checkpoints) {
    const { organizationId, sequence, hash, balanceNanoUsd, totalCreditsNanoUsd } = checkpoint;
    const subject = `${organizationId} entry ${sequence}`;
    const range = ranges.get(sequence);
    walk.hash = nextHash(walk.hash, range?.digest ?? Buffer.alloc(0));
    balance += range?.amounts ?? 0n;
    credits += range?.credits ?? 0n;
    const expected = `${hash.toString('hex')}, ${balanceNanoUsd} of ${totalCreditsNanoUsd}`;
    const found = `${walk.hash.toString('hex')}, ${balance} of ${credits}`;
    if (expected !== found)
      on.findings.add('entries are those that their checkpoint has seen', subject, expected, found);
    compareSignature(on, checkpoint);
    // Continues from the stored hash, so that each difference is reported once.
    walk.hash = hash;
  }
}

/** Also for the checkpoint with which a verification begins: everything before it rests on it. */
export function compareSignature({ findings, trusted }: Verification, checkpoint: Checkpoint): void {
  const { organizationId, sequence, publicKey } = checkpoint;
  const isTrusted = trusted === undefined || trusted.some((key) => key.equals(publicKey));
  if (isTrusted && isSigned(checkpoint)) return;
  const subject = `${organizationId} entry ${sequence}`;
  const signer = `a signature by ${publicKey.toString('base64url')}`;
  findings.add(
    'every checkpoint is signed',
    subject,
    isTrusted ? signer : 'a known key',
    isTrusted ? 'another' : signer,
  );
}

interface Account {
  readonly organization_id: string;
  readonly sequence: number;
  readonly balance: string;
  readonly credits: string;
  readonly usage: string;
  readonly beyond: string | null;
  readonly seen: string | null;
}

async function readAccount(session: PatientSession, organizationId: string): Promise<Account | undefined> {
  const [account] = await session.read<Account>(
    `select organization_id, sequence::float8 as sequence, balance_nano_usd::text as balance, total_credits_nano_usd::text as credits,
       total_usage_nano_usd::text as usage,
       (select max(e.sequence)::text from ledger_entries e where e.organization_id = a.organization_id and e.sequence > a.sequence) as beyond,
       (select max(c.sequence)::text from ledger_checkpoints c where c.organization_id = a.organization_id and c.sequence > a.sequence) as seen
     from accounts a where organization_id = $1`,
    [organizationId],
  );
  return account;
}

function compareAccount(findings: LedgerFindings, account: Account, walk: Walk, begin: Begin): void {
  const { organization_id: subject, sequence, balance, credits, usage, beyond, seen } = account;
  if (seen !== null) findings.add(REACHES, subject, `${seen} entries`, `${sequence} entries`);
  const sums = `${walk.credits} and ${walk.credits - walk.balance}`;
  if (balance !== String(walk.balance))
    findings.add('the balance is the sum of the entries', subject, String(walk.balance), balance);
  if (`${credits} and ${usage}` !== sums)
    findings.add(
      'total credits and total usage are the sums of their entries',
      subject,
      sums,
      `${credits} and ${usage}`,
    );
  const entries = begin.sequence + walk.entries;
  if (entries !== sequence || beyond !== null)
    findings.add(
      NUMBERED,
      subject,
      `${sequence} entries`,
      `${entries} entries${beyond === null ? '' : ` up to ${beyond}`}`,
    );
}
