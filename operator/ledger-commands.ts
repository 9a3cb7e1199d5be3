import { countOf } from '../ext-proc/domain/count-of.ts';
import { type Command, onDatabase } from './command.ts';
import { table } from './table.ts';

const verify: Command = {
  name: 'ledger verify',
  summary: 'Check that balances, ledger, generations and daily usage agree.',
  positionals: [],
  flags: [],
  run: (call) =>
    onDatabase(
      call,
      () => undefined,
      async ({ administration }) => {
        const report = await administration.verifyLedger();
        const { organizations, entries, generations, deadLetters, differences } = report;
        const read = [
          countOf(organizations, 'organization'),
          countOf(entries, 'entry', 'entries'),
          countOf(generations, 'generation'),
          countOf(deadLetters, 'dead letter'),
        ].join(', ');
        const json = {
          ok: differences.length === 0,
          organizations,
          entries,
          generations,
          dead_letters: deadLetters,
          differences,
        };
        if (differences.length === 0) return { kind: 'done', json, text: `Everything agrees: ${read}.` };
        const rows = differences.map(({ rule, subject, expected, found }) => [subject, expected, found, rule]);
        const message = `Not everything agrees (${read}):\n${table([['WHERE', 'EXPECTED', 'FOUND', 'RULE'], ...rows])}`;
        return { kind: 'refused', message, json };
      },
    ),
};

const renewEpoch: Command = {
  name: 'ledger renew-epoch',
  summary: 'After restoring the database from a backup: make running gateways forget what they knew of it.',
  positionals: [],
  flags: [],
  run: (call) =>
    onDatabase(
      call,
      () => undefined,
      async ({ administration }) => {
        const epoch = await administration.renewLedgerEpoch();
        return { kind: 'done', json: { epoch }, text: `The ledger's epoch is ${epoch} now.` };
      },
    ),
};

export const LEDGER_COMMANDS: readonly Command[] = [verify, renewEpoch];
