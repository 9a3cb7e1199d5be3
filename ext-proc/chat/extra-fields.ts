import type { ExtraFieldType, Model } from '#core/config/gateway-config.ts';
import { type Refusal, refuse } from '#core/errors/refusal.ts';
import { type FieldRule, invalidField } from './chat-facts.ts';

/** Fields beside the official ones (`extra_request_fields`), with their types. */
export type ExtraFields = ReadonlyMap<string, ExtraFieldType>;

export const NO_EXTRA_FIELDS: ExtraFields = new Map();

const REQUIREMENTS: Readonly<Record<ExtraFieldType, string>> = {
  integer: 'must be an integer',
  number: 'must be a number',
  boolean: 'must be true or false',
  string: 'must be a string',
  object: 'must be an object',
  array: 'must be an array',
};

/** The value may become a part of the prompt (templates), so its text is counted. */
export function extraFieldRule(type: ExtraFieldType): FieldRule {
  return (cursor, facts, field) => {
    const kind = cursor.kind();
    facts.extraFields.push(field);
    if (kind !== (type === 'integer' ? 'number' : type)) return invalidField(field, REQUIREMENTS[type]);
    if (type === 'integer')
      return Number.isInteger(cursor.number()) ? undefined : invalidField(field, REQUIREMENTS[type]);
    const span = cursor.span();
    if (kind !== 'number' && kind !== 'boolean') facts.prompt.addJson(span);
    return undefined;
  };
}

/** The model with only those targets whose provider accepts the extra fields of a request. */
export function withTargetsFor(model: Model, fields: readonly string[]): Model | Refusal {
  const [first] = fields;
  if (first === undefined || model.targets.length === 0) return model;
  const takers = (taken: readonly string[]) =>
    model.targets.filter(({ provider }) => taken.every((field) => provider.extraFields?.has(field)));
  const targets = takers(fields);
  if (targets.length > 0) return { ...model, targets };
  const lacking = fields.find((field) => takers([field]).length === 0);
  const what = lacking ?? `${fields.join(', ')} together`;
  return refuse(
    'invalid_request',
    { problem: `The model ${model.id} does not take ${what}.` },
    { param: lacking ?? first },
  );
}
