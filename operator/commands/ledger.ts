import { formatUsd, usdJson } from '#core/money.ts';
import { renewLedgerEpoch } from '#database/ledger/ledger-epoch.ts';
import { listLosses } from '#database/ledger/loss-rows.ts';
import { type Command, flaglessCommand, onDatabase, operatorHere } from '../command-line/command.ts';
import { table } from '../command-line/table.ts';

const renewEpoch = flaglessCommand(
  'ledger renew-epoch',
  'After restoring a backup: make running gateways discard what they know of the database.',
  [],
  async (pool) => {
    const epoch = await renewLedgerEpoch(pool, operatorHere());
    return { kind: 'done', json: { epoch }, text: `The ledger epoch is now ${epoch}.` };
  },
);

const losses: Command = {
  name: 'ledger losses',
  summary: 'List costs that no customer was charged for.',
  flags: [{ name: 'since', value: 'ISO' }],
  run: (call) =>
    onDatabase(
      call,
      (values) => values.moment('since') ?? 0,
      async (pool, sinceMs) => {
        const lost = await listLosses(pool, sinceMs);
        const json = lost.map(({ generationId, organizationId, reason, amountNanoUsd, createdAtMs }) => ({
          generation_id: generationId,
          organization_id: organizationId,
          reason,
          usd: usdJson(amountNanoUsd),
          created_at: new Date(createdAtMs).toISOString(),
        }));
        if (lost.length === 0) return { kind: 'done', json, text: 'No losses.' };
        const sum = lost.reduce((total, { amountNanoUsd }) => total + amountNanoUsd, 0n);
        const rows = lost.map(({ generationId, organizationId, reason, amountNanoUsd, createdAtMs }) => [
          new Date(createdAtMs).toISOString(),
          reason,
          formatUsd(amountNanoUsd),
          organizationId,
          generationId,
        ]);
        const text = table([
          ['TIME', 'REASON', 'USD', 'ORGANIZATION', 'GENERATION'],
          ...rows,
          ['', 'sum', formatUsd(sum), '', ''],
        ]);
        return { kind: 'done', json, text };
      },
    ),
};

export const LEDGER_COMMANDS: readonly Command[] = [losses, renewEpoch];
