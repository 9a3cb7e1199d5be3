import { type RawSearch, textOf } from '../../search/search-values.ts';
import { type AuditSearch, auditSearch } from '../audit/audit-search.ts';

export interface OperatorAuditSearch extends AuditSearch {
  readonly organization?: string | undefined;
}

/** What is no id is left out here, because the server would refuse the whole question. */
export function operatorAuditSearch(raw: RawSearch): OperatorAuditSearch {
  const id = textOf(raw, 'organization');
  const organization = id !== undefined && /^org-[0-9A-HJKMNP-TV-Z]{26}$/.test(id) ? id : undefined;
  return { organization, ...auditSearch(raw) };
}
