import { numberOf, oneOf, type RawSearch, textOf } from '../../search-values.ts';

export interface RequestsSearch {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly outcome?: 'succeeded' | 'failed' | undefined;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly search?: string | undefined;
  /** The request in the drawer. */
  readonly open?: string | undefined;
}

export function requestsSearch(raw: RawSearch): RequestsSearch {
  return {
    fromMs: numberOf(raw, 'fromMs'),
    toMs: numberOf(raw, 'toMs'),
    key: textOf(raw, 'key'),
    model: textOf(raw, 'model'),
    outcome: oneOf(raw, 'outcome', ['succeeded', 'failed']),
    status: numberOf(raw, 'status'),
    code: textOf(raw, 'code'),
    search: textOf(raw, 'search'),
    open: textOf(raw, 'open'),
  };
}
