import { type ReactNode, useMemo } from 'react';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { FilterSelect } from '../../forms/select.tsx';
import { TimeFilter } from '../../search/time-filter.tsx';
import { ACTIONS, actionChoice } from './audit-labels.ts';
import { type AuditUrlState, auditFilter } from './audit-url.ts';

export interface AuditFiltersProps {
  readonly search: AuditUrlState;
  readonly onSearch: (search: AuditUrlState) => void;
  /** An extra filter of one page, and whether it is set. */
  readonly more?: ReactNode;
  readonly isMoreActive?: boolean;
  readonly onClear: () => void;
}

const CHOICES = ACTIONS.map(actionChoice);

export function AuditFilters({ search, onSearch, more, isMoreActive = false, onClear }: AuditFiltersProps): ReactNode {
  const isActive = isMoreActive || Object.values(search).some((value) => value !== undefined);
  const { actor, action, ...times } = search;
  return (
    <FilterBar active={isActive} onClear={onClear}>
      <SearchBox label="Search by who" value={actor} onSearch={(text) => onSearch({ ...search, actor: text })} />
      <FilterSelect
        label="Action"
        all="All actions"
        value={action}
        onChange={(next) => onSearch({ ...search, action: next })}
        choices={CHOICES}
      />
      {more}
      <TimeFilter times={times} onTimes={(next) => onSearch({ actor, action, ...next })} />
    </FilterBar>
  );
}

/**
 * Keeps the same filter object until the URL changes: `Last 24 hours` counts from the moment of the
 * choice.
 */
export function useAuditFilter({ actor, action, range, from, to }: AuditUrlState): ReturnType<typeof auditFilter> {
  return useMemo(
    () => auditFilter({ actor, action, ...(range && { range }), ...(from && { from }), ...(to && { to }) }, Date.now()),
    [actor, action, range, from, to],
  );
}
