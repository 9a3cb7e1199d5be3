import { numberOf, oneOf, type RawSearch, textOf } from '../../search/search-values.ts';

const RANGES = ['15m', '1h', '24h', '7d', '30d'] as const;
/** Up to now. */
export type Range = (typeof RANGES)[number];

/** As it stands in the URL. */
export interface RequestsSearch {
  readonly range?: Range | undefined;
  /** Before `range`. One of them may be open. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly outcome?: 'succeeded' | 'failed' | undefined;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  /** A request or generation id; nothing else is looked at then. */
  readonly search?: string | undefined;
  /** The request in the drawer. */
  readonly open?: string | undefined;
}

export function requestsSearch(raw: RawSearch): RequestsSearch {
  const status = numberOf(raw, 'status');
  return {
    range: oneOf(raw, 'range', RANGES),
    fromMs: numberOf(raw, 'fromMs'),
    toMs: numberOf(raw, 'toMs'),
    key: idOf(raw, 'key', 'key'),
    model: textOf(raw, 'model'),
    outcome: oneOf(raw, 'outcome', ['succeeded', 'failed']),
    status: status !== undefined && status >= 100 && status <= 599 ? status : undefined,
    code: textOf(raw, 'code'),
    search: textOf(raw, 'search'),
    open: idOf(raw, 'open', 'log'),
  };
}

/** What is no id is left out here, because the server would refuse the whole question. */
function idOf(raw: RawSearch, name: string, prefix: string): string | undefined {
  const text = textOf(raw, name);
  return text !== undefined && new RegExp(`^${prefix}-[0-9A-HJKMNP-TV-Z]{26}$`).test(text) ? text : undefined;
}
