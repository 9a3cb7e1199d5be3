import { z } from 'zod';
import { momentField, wholeNumberField } from './query-fields.ts';

interface LedgerFilter {
  readonly kind?: 'credit' | 'charge';
  readonly fromMs?: number;
  readonly toMs?: number;
}

const FILTER = {
  kind: z.enum(['credit', 'charge'], { error: 'credit or charge.' }).exactOptional(),
  fromMs: momentField.exactOptional(),
  toMs: momentField.exactOptional(),
};

export const ledgerFilter: z.ZodType<LedgerFilter> = z.strictObject(FILTER);

export const ledgerPageQuery: z.ZodType<LedgerFilter & { before?: number }> = z.strictObject({
  ...FILTER,
  before: wholeNumberField(1, Number.MAX_SAFE_INTEGER).exactOptional(),
});
