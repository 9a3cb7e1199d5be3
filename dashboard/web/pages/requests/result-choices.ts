import { CATALOGUE, type CatalogueEntry, CLIENT_GONE_STATUS } from '#core/errors/catalogue.ts';
import type { RequestsUrlState } from './requests-url.ts';

/** The result of a request as one choice: all, an outcome, a status or a code. */
export type ResultUrlState = Pick<RequestsUrlState, 'outcome' | 'status' | 'code'>;

export interface ResultChoice {
  readonly value: string;
  readonly label: string;
  readonly group?: string;
}

/**
 * Value of the choice: empty, `failed`, `429`, `rpm_exceeded`. If a link names several, the most
 * specific one.
 */
export function resultChoice({ outcome, status, code }: ResultUrlState): string {
  return code ?? (status === undefined ? (outcome ?? '') : String(status));
}

export function resultFilter(choice: string): ResultUrlState {
  const nothing = { outcome: undefined, status: undefined, code: undefined };
  if (choice === 'succeeded' || choice === 'failed') return { ...nothing, outcome: choice };
  if (/^\d{3}$/.test(choice)) return { ...nothing, status: Number(choice) };
  return { ...nothing, code: choice === '' ? undefined : choice };
}

/** All results by status, and the present one even if it is unknown. */
export function resultChoices(chosen: string): readonly ResultChoice[] {
  const byStatus = Map.groupBy(Object.entries<CatalogueEntry>(CATALOGUE), ([, { status }]) => status);
  const known: readonly ResultChoice[] = [
    { value: '', label: 'All results' },
    { value: 'succeeded', label: 'Succeeded' },
    { value: 'failed', label: 'Failed' },
    { value: String(CLIENT_GONE_STATUS), label: `${CLIENT_GONE_STATUS}: the client left` },
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
