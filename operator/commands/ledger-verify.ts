import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { countOf } from '#core/count-of.ts';
import { rawPublicKey } from '#database/checkpoints/checkpoints.ts';
import {
  isVerified,
  type LedgerReport,
  type VerifiedBefore,
  type VerifyOptions,
} from '#database/ledger-verification/ledger-report.ts';
import { verifyLedger } from '#database/ledger-verification/ledger-verification.ts';
import type { Command, CommandCall } from '../command-line/command.ts';
import { withDatabase } from '../command-line/database.ts';
import { createValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { type ChargesInFiles, type DataFolder, lookForCharges } from './charges-in-files.ts';
import { readExported } from './checkpoint-lines.ts';

export const VERIFY: Command = {
  name: 'ledger verify',
  summary: 'Check that balances, ledger, generations and daily usage agree, and that nothing is missing from them.',
  flags: [
    { name: 'since', value: 'CHECKPOINT' },
    { name: 'key', value: 'FILE' },
  ],
  async run(call) {
    const options = await readOptions(call);
    if ('kind' in options) return options;
    return withDatabase(call.env, async (pool) => {
      const paths = runtimePaths(call.env);
      const report = verifyLedger(pool, options);
      const [verified, folder] = await Promise.all([report, lookForCharges(paths, pool)]);
      return told(verified, folder, paths, options.before);
    });
  },
};

const PEM_BLOCK = /^-----BEGIN [^-]+-----$.*?^-----END [^-]+-----$/gms;

async function readOptions({ flags }: CommandCall): Promise<VerifyOptions | Result> {
  const [since, keyFile] = [flags.get('since'), flags.get('key')];
  const before = since === undefined ? undefined : await readSince(since);
  if (typeof before === 'string')
    return refused(`--since takes a time, or a file with the output of \`ledger checkpoints\`: ${before}.`);
  if (keyFile === undefined) return before ? { before } : {};
  try {
    const text = await readFile(keyFile, 'utf8');
    // Without a block OpenSSL says what is wrong with the text.
    const trusted = (text.match(PEM_BLOCK) ?? [text]).map((pem) => rawPublicKey(createPublicKey(pem)));
    return before ? { before, trusted } : { trusted };
  } catch (error) {
    return refused(`${keyFile} has no keys in PEM format: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A string describes the problem. */
async function readSince(since: string): Promise<VerifiedBefore | string> {
  const ms = createValueReader(new Map([['since', since]])).moment('since');
  if (ms !== undefined) return { kind: 'moment', ms };
  const text = await readFile(since, 'utf8').catch((error: Error) => error);
  if (text instanceof Error) return text.message;
  const checkpoints = readExported(text);
  return typeof checkpoints === 'string' ? checkpoints : { kind: 'exported', checkpoints };
}

/** Describes what waits, and what to do about it. */
function advice({ deadLetters, waitingCharges }: LedgerReport, folder: DataFolder, chargeLogDir: string): string[] {
  const lines: string[] = [];
  if (deadLetters > 0) lines.push('Decide about dead letters (`ledger dead-letters list`).');
  if (waitingCharges > 0) lines.push('Running processes make these charges when PostgreSQL takes charges again.');
  if (folder === 'missing') return lines;
  if ('unreadable' in folder) return [...lines, `The files in ${chargeLogDir} cannot be read: ${folder.unreadable}`];
  const { waitingCharges: waiting, openRequests: open, recentCharges: recent, damagedLines: damaged } = folder;
  if (waiting > 0) lines.push(`${countOf(waiting, 'charge waits', 'charges wait')} in ${chargeLogDir}.`);
  if (open > 0)
    lines.push(`${countOf(open, 'request of a killed process is', 'requests of killed processes are')} not settled.`);
  if (recent > 0) lines.push(`The database lacks ${countOf(recent, 'charge')} that it had taken (${chargeLogDir}).`);
  if (waiting + open + recent > 0)
    lines.push('Start the gateway with this data folder: it makes these charges. Never delete the files.');
  if (damaged > 0)
    lines.push(
      `${countOf(damaged, 'damaged line')} in ${chargeLogDir} cannot be charged: docs/operating.md, "Damaged lines of the charge log".`,
    );
  return lines;
}

function told(
  report: LedgerReport,
  folder: DataFolder,
  { dataDir, chargeLogDir }: RuntimePaths,
  before: VerifiedBefore | undefined,
): Result {
  const { organizations, entries, generations, deadLetters, differences } = report;
  const counts = typeof folder === 'object' && 'waitingCharges' in folder ? folder : undefined;
  // Processes on other machines report theirs. Those of this machine may be in both counts.
  const waitingCharges = Math.max(report.waitingCharges, counts?.waitingCharges ?? 0);
  const read = [
    countOf(organizations, 'organization'),
    countOf(entries, 'entry', 'entries'),
    countOf(generations, 'generation'),
    countOf(deadLetters, 'dead letter'),
    countOf(waitingCharges, 'waiting charge'),
    // A number that is too small shows that the export is incomplete.
    ...(before?.kind === 'exported' ? [countOf(before.checkpoints.length, 'exported checkpoint')] : []),
  ].join(', ');
  const ok = isVerified(report) && (folder === 'missing' || nothingWaits(counts));
  const json = {
    ...{ ok, organizations, entries, generations, dead_letters: deadLetters, spooled_charges: waitingCharges },
    data_folder: folderJson(folder, dataDir),
    differences,
  };
  if (ok) {
    const unread = folder === 'missing' ? `\nThere is no data folder ${dataDir} here, so none was read.` : '';
    return { kind: 'done', json, text: `Everything agrees: ${read}.${unread}` };
  }
  const rows = differences.map(({ rule, subject, expected, found }) => [subject, expected, found, rule]);
  const found =
    differences.length === 0
      ? `Charges are missing (${read}).`
      : `Not everything agrees (${read}):\n${table([['WHERE', 'EXPECTED', 'FOUND', 'RULE'], ...rows])}`;
  const message = [found, ...advice(report, folder, chargeLogDir)].join('\n');
  return { kind: 'refused', message, json, isReport: true };
}

function nothingWaits(counts: ChargesInFiles | undefined): boolean {
  return counts !== undefined && Object.values(counts).every((count) => count === 0);
}

function folderJson(folder: DataFolder, path: string): object {
  if (folder === 'missing') return { path, state: 'missing' };
  if ('unreadable' in folder) return { path, state: 'unreadable', message: folder.unreadable };
  const { waitingCharges, openRequests, recentCharges, damagedLines } = folder;
  return {
    ...{ path, state: 'read', spooled_charges: waitingCharges, open_requests: openRequests },
    ...{ recent_charges: recentCharges, damaged_lines: damagedLines },
  };
}
