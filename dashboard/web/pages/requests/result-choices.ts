import { CATALOGUE, type CatalogueEntry } from '../../../../core/errors/catalogue.ts';
import type { RequestsUrlState } from './requests-url.ts';

/** How a request ended, as one choice: everything, an outcome, a status or a code. */
export type ResultUrlState = Pick<RequestsUrlState, 'outcome' | 'status' | 'code'>;

/** Of a Select. */
export interface ResultChoice {
  readonly value: string;
  readonly label: string;
  readonly group?: string;
}

/** A client that left before there was an answer. It has no code. */
export const CLIENT_LEFT = 499;

/** Text of a choice: empty, `failed`, `429`, `rpm_exceeded`. A link may ask for several at once; the narrowest is shown. */
export function resultChoice({ outcome, status, code }: ResultUrlState): string {
  return code ?? (status === undefined ? (outcome ?? '') : String(status));
}

export function resultFilter(choice: string): ResultUrlState {
  const nothing = { outcome: undefined, status: undefined, code: undefined };
  if (choice === 'succeeded' || choice === 'failed') return { ...nothing, outcome: choice };
  if (/^\d{3}$/.test(choice)) return { ...nothing, status: Number(choice) };
  return { ...nothing, code: choice === '' ? undefined : choice };
}

/** All of them, by status. What a link asks for is among them, whatever it is. */
export function resultChoices(chosen: string): readonly ResultChoice[] {
  const byStatus = Map.groupBy(Object.entries<CatalogueEntry>(CATALOGUE), ([, { status }]) => status);
  const known: readonly ResultChoice[] = [
    { value: '', label: 'All results' },
    { value: 'succeeded', label: 'Succeeded' },
    { value: 'failed', label: 'Failed' },
    { value: String(CLIENT_LEFT), label: `${CLIENT_LEFT}: the client left` },
    ...[...byStatus]
      .sort(([a], [b]) => a - b)
      .flatMap(([status, entries]) => {
        const group = `Status ${status}`;
        const all = entries.length > 1 ? [{ value: String(status), label: `Every ${status}`, group }] : [];
        return [...all, ...entries.map(([code]) => ({ value: code, label: code, group }))];
      }),
  ];
  return known.some(({ value }) => value === chosen) ? known : [...known, { value: chosen, label: chosen }];
}
