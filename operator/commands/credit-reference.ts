import { newId } from '../../core/ids.ts';
import type { CommandCall } from '../command-line/command.ts';
import type { Result } from '../command-line/result.ts';

/** Reference of `--reference`, or a new one: known before the first try, so that a repetition books nothing twice. */
export function referenceOf({ flags }: CommandCall): string {
  return flags.get('reference')?.trim() || newId('crd', Date.now());
}

/** Adds the reference for a repetition to a result whose reply was lost. */
export function withReference(result: Result, reference: string): Result {
  if (result.kind !== 'refused') return result;
  const { message } = result;
  return {
    kind: 'refused',
    message: `${message}\nWith --reference ${reference} this credit is booked once, however often it is sent.`,
    json: { ...(result.json ?? { error: message }), reference },
  };
}

export function bookedElsewhere(reference: string, organizationId: string): string {
  return `The reference ${reference} was booked for the organization ${organizationId}. Nothing was added.`;
}
