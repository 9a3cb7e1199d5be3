import { type RawSearch, textOf } from '../../search-values.ts';

export interface OperatorAuditSearch {
  readonly organization?: string | undefined;
}

export function operatorAuditSearch(raw: RawSearch): OperatorAuditSearch {
  return { organization: textOf(raw, 'organization') };
}
