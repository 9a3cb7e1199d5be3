import { z } from 'zod';
import type { RequestFilter } from '../../contract/request-log.ts';
import { idOf } from './input-fields.ts';
import { momentField, textField, wholeNumberField } from './query-fields.ts';

const FILTER = {
  fromMs: momentField.exactOptional(),
  toMs: momentField.exactOptional(),
  key: idOf('key').exactOptional(),
  model: textField.exactOptional(),
  outcome: z.enum(['succeeded', 'failed'], { error: 'succeeded or failed.' }).exactOptional(),
  status: wholeNumberField(100, 599).exactOptional(),
  code: textField.exactOptional(),
  search: textField.exactOptional(),
};

export const requestFilter: z.ZodType<RequestFilter> = z.strictObject(FILTER);

export const requestPageQuery: z.ZodType<RequestFilter & { before?: string; after?: string }> = z.strictObject({
  ...FILTER,
  before: idOf('log').exactOptional(),
  after: idOf('log').exactOptional(),
});
