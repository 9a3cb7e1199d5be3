import { z } from 'zod';
import type { RequestFilter } from '../contract/request-log.ts';
import { idField, momentField, textField, wholeNumberField } from './query-fields.ts';

const FILTER = {
  fromMs: momentField.exactOptional(),
  toMs: momentField.exactOptional(),
  key: idField('key').exactOptional(),
  model: textField.exactOptional(),
  outcome: z.enum(['succeeded', 'failed'], { error: 'succeeded or failed.' }).exactOptional(),
  status: wholeNumberField(100, 599).exactOptional(),
  code: textField.exactOptional(),
  search: textField.exactOptional(),
};

export const requestFilter: z.ZodType<RequestFilter> = z.strictObject(FILTER);

export const requestPageQuery: z.ZodType<RequestFilter & { before?: string; after?: string }> = z.strictObject({
  ...FILTER,
  before: idField('log').exactOptional(),
  after: idField('log').exactOptional(),
});
