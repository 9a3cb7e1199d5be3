import { type RawSearch, textOf } from '../../search-values.ts';

export interface OperatorAuditSearch {
  readonly organization?: string | undefined;
}

/** What is no id is left out here, because the server would refuse the whole question. */
export function operatorAuditSearch(raw: RawSearch): OperatorAuditSearch {
  const id = textOf(raw, 'organization');
  return { organization: id !== undefined && /^org-[0-9A-HJKMNP-TV-Z]{26}$/.test(id) ? id : undefined };
}
