import type { AuditFilter } from '../../../contract/people.ts';
import { oneOf, type RawSearch, textOf } from '../../search/search-values.ts';
import { boundsOf, type LedgerTimes, readTimes } from '../credits/ledger-search.ts';
import { ACTIONS } from './audit-words.ts';

/** As it stands in the URL; absent is everything. */
export interface AuditSearch extends LedgerTimes {
  /** Part of who did it. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
}

export function auditSearch(raw: RawSearch): AuditSearch {
  return { actor: textOf(raw, 'actor'), action: oneOf(raw, 'action', ACTIONS), ...readTimes(raw) };
}

/** What the server is asked for. */
export function auditFilter({ actor, action, ...times }: AuditSearch, nowMs: number): AuditFilter {
  return {
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...boundsOf(times, nowMs),
  };
}
