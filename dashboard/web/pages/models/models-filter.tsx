import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { countOf } from '#core/count-of.ts';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { FilterSelect } from '../../forms/select.tsx';
import { hasEnded, maskedKey } from '../../keys/key-labels.ts';
import { ABILITIES, ABILITY_LABELS } from '../../models/model-labels.ts';
import type { ModelsUrlState } from './models-url.ts';

export interface ModelsFilterProps {
  readonly search: ModelsUrlState;
  readonly keys: readonly KeyView[];
  /** Number of shown models. Absent while loading. */
  readonly shown: number | undefined;
  readonly onChange: (next: ModelsUrlState) => void;
}

export function ModelsFilter({ search, keys, shown, onChange }: ModelsFilterProps): ReactNode {
  const offered = keys.filter((key) => !hasEnded(key) || key.id === search.key);
  const isKnown = search.key === undefined || offered.some(({ id }) => id === search.key);
  return (
    <FilterBar
      active={search.search !== undefined || search.can !== undefined || search.key !== undefined}
      onClear={() => onChange({ search: undefined, can: undefined, key: undefined })}
    >
      <SearchBox label="Search models" value={search.search} live onSearch={(text) => onChange({ search: text })} />
      <FilterSelect
        label="Capability"
        all="Any capability"
        value={search.can}
        choices={ABILITIES.map((value) => ({ value, label: ABILITY_LABELS[value] }))}
        onChange={(can) => onChange({ can })}
      />
      <FilterSelect
        label="Key"
        all="Any key"
        value={search.key}
        choices={[
          ...offered.map((key) => ({ value: key.id, label: `For ${key.name} (${maskedKey(key)})` })),
          ...(isKnown || search.key === undefined ? [] : [{ value: search.key, label: 'An unknown key' }]),
        ]}
        onChange={(key) => onChange({ key })}
      />
      <span className="visually-hidden" role="status">
        {shown !== undefined && countOf(shown, 'model')}
      </span>
    </FilterBar>
  );
}
