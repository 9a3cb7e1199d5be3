import type { RequestFilter } from '#contract/request-log.ts';
import { CLIENT_GONE_STATUS, ERROR_CODES, type ErrorEntry } from '#core/errors/error-codes.ts';
import { present } from '#core/present.ts';
import type { RequestsState } from '../searches.ts';

/** Times up to now. */
export type Range = NonNullable<RequestsState['range']>;

const MINUTE_MS = 60_000;
const RANGE_MS: Readonly<Record<Range, number>> = {
  '15m': 15 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '24h': 24 * 60 * MINUTE_MS,
  '7d': 7 * 24 * 60 * MINUTE_MS,
  '30d': 30 * 24 * 60 * MINUTE_MS,
};

/** The filter of the request to the server. */
export function requestFilter(state: RequestsState, nowMs: number): RequestFilter {
  const { range, fromMs, toMs, search, key, model, outcome, status, code } = state;
  if (search !== undefined) return { search };
  const isCustom = fromMs !== undefined || toMs !== undefined;
  const list = <Value>(value: Value | undefined) => (value === undefined ? undefined : [value]);
  const hasLeft = status === CLIENT_GONE_STATUS;
  const ofStatus = status === undefined || hasLeft ? undefined : codesOf(status);
  const filter = { keys: list(key), models: list(model), codes: list(code) ?? ofStatus, outcome };
  const statusClasses = hasLeft ? (['499'] as const) : undefined;
  return present({ ...filter, statusClasses, fromMs: isCustom ? fromMs : range && nowMs - RANGE_MS[range], toMs });
}

function codesOf(status: number): readonly string[] {
  return Object.entries<ErrorEntry>(ERROR_CODES).flatMap(([code, entry]) => (entry.status === status ? [code] : []));
}

/** True when new requests can match: the filter names neither an end nor a single id. */
export function canFollow({ toMs, search }: RequestsState): boolean {
  return toMs === undefined && search === undefined;
}

/** The result of a request as one choice: all, an outcome, a status or a code. */
type ResultState = Pick<RequestsState, 'outcome' | 'status' | 'code'>;

interface ResultChoice {
  readonly value: string;
  readonly label: string;
  readonly group?: string;
}

/**
 * Value of the choice: empty, `failed`, `429`, `rpm_exceeded`. If a link names several, the most
 * specific one.
 */
export function resultChoice({ outcome, status, code }: ResultState): string {
  return code ?? (status === undefined ? (outcome ?? '') : String(status));
}

export function resultFilter(choice: string): ResultState {
  const nothing = { outcome: undefined, status: undefined, code: undefined };
  if (choice === 'succeeded' || choice === 'failed') return { ...nothing, outcome: choice };
  if (/^\d{3}$/.test(choice)) return { ...nothing, status: Number(choice) };
  return { ...nothing, code: choice === '' ? undefined : choice };
}

/** All results by status, and the present one even if it is unknown. */
export function resultChoices(chosen: string): readonly ResultChoice[] {
  const byStatus = Map.groupBy(Object.entries<ErrorEntry>(ERROR_CODES), ([, { status }]) => status);
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
