import { formatUsd, usdJson } from '#core/money.ts';
import {
  forgiveDeadLetter,
  listDeadLetters,
  type ResolvedLetter,
  retryDeadLetter,
} from '#database/ledger/dead-letters.ts';
import { type Command, flaglessCommand, operatorHere } from '../command-line/command.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';

const list = flaglessCommand(
  'ledger dead-letters list',
  'List charges that the ledger refused and that wait for a decision.',
  [],
  async (pool) => {
    const letters = await listDeadLetters(pool);
    const json = letters.map(({ generationId, organizationId, model, dueNanoUsd, delivered, reason, createdAtMs }) => ({
      generation_id: generationId,
      organization_id: organizationId,
      model: model ?? null,
      usd: dueNanoUsd === undefined ? null : usdJson(dueNanoUsd),
      delivered,
      reason,
      created_at: new Date(createdAtMs).toISOString(),
    }));
    if (letters.length === 0) return { kind: 'done', json, text: 'No dead letters.' };
    const rows = letters.map(({ generationId, dueNanoUsd, delivered, reason, createdAtMs }) => [
      new Date(createdAtMs).toISOString(),
      generationId,
      dueNanoUsd === undefined ? '?' : formatUsd(dueNanoUsd),
      delivered ? 'yes' : 'no',
      reason,
    ]);
    return { kind: 'done', json, text: table([['TIME', 'ID', 'USD', 'DELIVERED', 'REASON'], ...rows]) };
  },
);

function resultOf(id: string, letter: ResolvedLetter): Result {
  switch (letter.kind) {
    case 'resolved': {
      const { resolution, amountNanoUsd } = letter;
      const json = { generation_id: id, resolution, usd: usdJson(amountNanoUsd) };
      const what = resolution === 'charged' ? 'was charged' : 'is forgiven and a loss';
      return { kind: 'done', json, text: `${id} ${what}: ${formatUsd(amountNanoUsd)} USD.` };
    }
    case 'resolved_before':
      return refused(`${id} was ${letter.resolution} at ${new Date(letter.resolvedAtMs).toISOString()}.`);
    case 'refused':
      return refused(`The ledger refuses ${id} still: ${letter.reason}`);
    case 'unknown':
      return refused(`There is no dead letter ${JSON.stringify(id)}.`);
  }
}

const retry = flaglessCommand(
  'ledger dead-letters retry',
  'Charge a dead letter again, after its cause is corrected.',
  ['ID'],
  async (pool, [id = '']) => resultOf(id, await retryDeadLetter(pool, id, operatorHere())),
);

const forgive = flaglessCommand(
  'ledger dead-letters forgive',
  'Book a dead letter as a loss and charge nothing.',
  ['ID'],
  async (pool, [id = '']) => resultOf(id, await forgiveDeadLetter(pool, id, operatorHere())),
);

export const DEAD_LETTER_COMMANDS: readonly Command[] = [list, retry, forgive];
