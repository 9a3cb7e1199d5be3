import type { ReactNode } from 'react';
import { countOf } from '#core/count-of.ts';
import { KEY_GROUPS, type KeyGroup } from '#core/key-filter.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/states.tsx';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { CsvLink } from '../../table/csv-link.tsx';
import type { FilteredKeys } from './filter-keys.ts';
import type { KeysUrlState } from './keys-url.ts';

export interface KeysFilterProps {
  readonly organization: string;
  readonly search: KeysUrlState;
  /** Absent while loading. */
  readonly counts: FilteredKeys['counts'] | undefined;
  readonly onChange: (next: Partial<KeysUrlState>) => void;
}

const GROUP_LABELS: Readonly<Record<KeyGroup, string>> = {
  usable: 'Usable',
  expiring: 'Expiring',
  ended: 'Ended',
  all: 'All',
};

export function KeysFilter({ organization, search, counts, onChange }: KeysFilterProps): ReactNode {
  return (
    <FilterBar
      active={search.search !== undefined || search.show !== undefined}
      onClear={() => onChange({ search: undefined, show: undefined })}
      actions={
        <CsvLink
          organization={organization}
          table="keys"
          query={{ show: search.show ?? 'usable', search: search.search }}
        />
      }
    >
      <SearchBox
        label="Search names and notes"
        value={search.search}
        live
        onSearch={(text) => onChange({ search: text })}
      />
      <SegmentedControl
        label="State"
        value={search.show ?? 'usable'}
        choices={KEY_GROUPS.map((value) => ({ value, label: GROUP_LABELS[value] }))}
        onChange={(show) => onChange({ show: show === 'usable' ? undefined : show })}
      />
      <span className="visually-hidden" role="status">
        {counts && countOf(counts[search.show ?? 'usable'], 'key')}
      </span>
    </FilterBar>
  );
}

export interface NoKeysProps {
  readonly search: KeysUrlState;
  readonly counts: FilteredKeys['counts'];
  /** All keys of the organization. */
  readonly total: number;
  readonly onChange: (next: Partial<KeysUrlState>) => void;
  readonly onCreate: () => void;
}

/** Replaces an empty list: the reason and what to do. */
export function NoKeys({ search, counts, total, onChange, onCreate }: NoKeysProps): ReactNode {
  if (total === 0) {
    return (
      <EmptyState
        icon="key"
        title="No API keys yet"
        action={
          <Button tone="primary" icon="plus" onClick={onCreate}>
            Create key
          </Button>
        }
      >
        An application sends its key with every request: it says who pays, what may be used and from where.
      </EmptyState>
    );
  }
  if (counts.all > 0) {
    if (search.show === 'expiring') {
      return (
        <EmptyState
          icon="check"
          title={search.search === undefined ? 'No key expires soon' : 'No matching key expires soon'}
          action={<Button onClick={() => onChange({ show: undefined })}>Show usable keys</Button>}
        >
          Keys that expire within 7 days are shown here, so that you can extend or replace them.
        </EmptyState>
      );
    }
    const [here, there] = search.show === 'ended' ? ['revoked or expired', 'usable'] : ['usable', 'revoked or expired'];
    const isOne = counts.all === 1;
    return (
      <EmptyState
        icon="key"
        title={search.search === undefined ? `No ${here} key` : `No matching ${here} key`}
        action={<Button onClick={() => onChange({ show: 'all' })}>{isOne ? 'Show it' : 'Show them'}</Button>}
      >
        There {isOne ? `is 1 ${there} key` : `are ${counts.all} ${there} keys`}
        {search.search !== undefined && ` for “${search.search}”`}.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="search"
      title="No matching key"
      action={<Button onClick={() => onChange({ search: undefined })}>Clear the search</Button>}
    >
      Keys are found by name, note, id, last four characters and who created them.
    </EmptyState>
  );
}
