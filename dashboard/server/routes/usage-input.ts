import { z } from 'zod';
import type { UsageQuery } from '../../../database/ledger/usage-reads.ts';
import type { UsageGroupName } from '../../contract/money.ts';
import type { Problem } from '../http/problem.ts';
import { wrongField } from '../http/problem.ts';
import { idOf } from './input-fields.ts';
import { dayField, dayOf, textField } from './query-fields.ts';

const GROUPS: readonly UsageGroupName[] = ['day', 'model', 'key'];
/** As many as the API sums up (INTERFACE 4). */
const MOST_DAYS = 3_660;

export interface UsageInput {
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly key?: string;
  readonly model?: string;
}

export const usageInput: z.ZodType<UsageInput> = z.strictObject({
  from: dayField,
  to: dayField,
  by: z.string().regex(/^(?:day|model|key)(?:,(?:day|model|key)){0,2}$/, { error: `A list of: ${GROUPS.join(', ')}.` }),
  key: idOf('key').exactOptional(),
  model: textField.exactOptional(),
});

export function usageQuery(organizationId: string, input: UsageInput): UsageQuery | Problem {
  const { from, to, by, ...filter } = input;
  const [firstDay, lastDay] = [dayOf(from), dayOf(to)];
  if (firstDay > lastDay) return wrongField('from', 'This is after the last day.');
  if (lastDay - firstDay >= MOST_DAYS) return wrongField('from', `At most ${MOST_DAYS} days.`);
  const groupBy = new Set(GROUPS.filter((group) => by.split(',').includes(group)));
  return { organizationId, firstDay, lastDay, groupBy, ...filter };
}
