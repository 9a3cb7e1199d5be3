import { type RawSearch, textOf } from '../../search-values.ts';

export interface AuditSearch {
  readonly search?: string | undefined;
}

export function auditSearch(raw: RawSearch): AuditSearch {
  return { search: textOf(raw, 'search') };
}
