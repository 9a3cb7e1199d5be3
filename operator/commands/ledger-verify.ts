import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { countOf } from '../../core/count-of.ts';
import { rawPublicKey } from '../../database/checkpoints/checkpoints.ts';
import {
  isVerified,
  type LedgerReport,
  type VerifiedBefore,
  type VerifyOptions,
} from '../../database/ledger-verification/ledger-report.ts';
import { type Command, type CommandCall, onDatabase } from '../command-line/command.ts';
import { createValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { readExported } from './checkpoint-lines.ts';

export const VERIFY: Command = {
  name: 'ledger verify',
  summary: 'Check that balances, ledger, generations and daily usage agree, and that nothing is missing from them.',
  positionals: [],
  flags: [
    { name: 'since', value: 'CHECKPOINT' },
    { name: 'key', value: 'FILE' },
  ],
  async run(call) {
    const options = await readOptions(call);
    if ('kind' in options) return options;
    return onDatabase(
      call,
      () => undefined,
      async ({ administration }) => told(await administration.verifyLedger(options)),
    );
  },
};

async function readOptions({ flags }: CommandCall): Promise<VerifyOptions | Result> {
  const [since, keyFile] = [flags.get('since'), flags.get('key')];
  const before = since === undefined ? undefined : await readSince(since);
  if (typeof before === 'string')
    return refused(`--since takes a time, or a file with the output of \`ledger checkpoints\`: ${before}.`);
  if (keyFile === undefined) return before ? { before } : {};
  try {
    const trusted = [rawPublicKey(createPublicKey(await readFile(keyFile)))];
    return before ? { before, trusted } : { trusted };
  } catch (error) {
    return refused(`${keyFile} is not a key in PEM format: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A text is the problem. */
async function readSince(since: string): Promise<VerifiedBefore | string> {
  const ms = createValueReader(new Map([['since', since]])).moment('since');
  if (ms !== undefined) return { kind: 'moment', ms };
  const text = await readFile(since, 'utf8').catch((error: Error) => error);
  if (text instanceof Error) return text.message;
  const checkpoints = readExported(text);
  return typeof checkpoints === 'string' ? checkpoints : { kind: 'exported', checkpoints };
}

const WAITING =
  'Decide about dead letters (`ledger dead-letters list`). Spools are charged when PostgreSQL takes charges again.';

function told(report: LedgerReport): Result {
  const { organizations, entries, generations, deadLetters, spooledCharges, differences } = report;
  const read = [
    countOf(organizations, 'organization'),
    countOf(entries, 'entry', 'entries'),
    countOf(generations, 'generation'),
    countOf(deadLetters, 'dead letter'),
    `${countOf(spooledCharges, 'charge')} in spools`,
  ].join(', ');
  const ok = isVerified(report);
  const counts = { organizations, entries, generations, dead_letters: deadLetters, spooled_charges: spooledCharges };
  const json = { ok, ...counts, differences };
  if (ok) return { kind: 'done', json, text: `Everything agrees: ${read}.` };
  const waiting = deadLetters + spooledCharges === 0 ? '' : `\n${WAITING}`;
  if (differences.length === 0) return { kind: 'refused', message: `Charges are missing (${read}).${waiting}`, json };
  const rows = differences.map(({ rule, subject, expected, found }) => [subject, expected, found, rule]);
  const message = `Not everything agrees (${read}):\n${table([['WHERE', 'EXPECTED', 'FOUND', 'RULE'], ...rows])}${waiting}`;
  return { kind: 'refused', message, json };
}
