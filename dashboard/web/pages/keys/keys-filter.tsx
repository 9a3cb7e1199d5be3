import type { ReactNode } from 'react';
import { countOf } from '../../../../core/count-of.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import type { FilteredKeys } from './filter-keys.ts';
import { KEY_GROUPS, type KeyGroup, type KeysUrlState } from './keys-url.ts';

export interface KeysFilterProps {
  readonly search: KeysUrlState;
  /** Absent: not known yet. */
  readonly counts: FilteredKeys['counts'] | undefined;
  readonly onChange: (next: Partial<KeysUrlState>) => void;
}

const GROUP_WORDS: Readonly<Record<KeyGroup, string>> = { usable: 'Usable', ended: 'Revoked or expired', all: 'All' };

export function KeysFilter({ search, counts, onChange }: KeysFilterProps): ReactNode {
  return (
    <FilterBar
      active={search.search !== undefined || search.show !== undefined}
      onClear={() => onChange({ search: undefined, show: undefined })}
    >
      <SearchBox
        label="Search name, id or last four"
        value={search.search ?? ''}
        live
        onSearch={(text) => onChange({ search: text === '' ? undefined : text })}
      />
      <SegmentedControl
        label="State"
        value={search.show ?? 'usable'}
        choices={KEY_GROUPS.map((value) => ({ value, label: GROUP_WORDS[value] }))}
        onChange={(show) => onChange({ show: show === 'usable' ? undefined : show })}
      />
      <span className="visually-hidden" role="status">
        {counts && countOf(counts[search.show ?? 'usable'], 'key')}
      </span>
    </FilterBar>
  );
}
