import { type ReactNode, useRef, useState } from 'react';
import type { ExploreGrouping } from '#contract/explore.ts';
import { type ExploreState, RANGES, USUAL_RANGE } from '#contract/explore-search.ts';
import { useAsk, useOrganizationOfPage } from '../api/queries.ts';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { loadedLater } from '../components/loaded-later.tsx';
import { Checkbox, Select } from '../forms/choices.tsx';
import { FilterBar, SearchBox } from '../forms/filter-bar.tsx';
import type { Url } from '../search/use-url.ts';
import styles from './explore.module.css';
import { filterWords, GROUP_WORDS } from './state-words.ts';
import { TimeChoice } from './time-choice.tsx';

// Loaded later, with the controls for several values, because the charts need none of it.
const FilterDialog = loadedLater(() => import('./filter-dialog.tsx').then((module) => module.FilterDialog));

interface ExploreBarProps {
  readonly url: Url<ExploreState>;
  readonly by: ExploreGrouping;
  /** Further filters. */
  readonly children?: ReactNode;
  /** Shown at the end. */
  readonly actions?: ReactNode;
}

/** Range, grouping and filters of the explorer. */
export function ExploreBar({ url, by, children, actions }: ExploreBarProps): ReactNode {
  const { search, change } = url;
  const organization = useOrganizationOfPage();
  const [filtering, setFiltering] = useState(false);
  const filterButton = useRef<HTMLButtonElement>(null);
  const member = by.startsWith('metadata.') ? by.slice('metadata.'.length) : '';
  const [isNaming, setNaming] = useState(false);
  const isByMember = isNaming || member !== '';
  return (
    <FilterBar url={url} actions={actions}>
      <TimeChoice url={url} ranges={RANGES} usual={USUAL_RANGE} />
      <Select
        label="Group by"
        value={isByMember ? 'metadata' : by}
        onChange={(next) => {
          setNaming(next === 'metadata');
          if (next !== 'metadata') change({ by: next as ExploreGrouping });
        }}
        choices={groupChoices(organization)}
      />
      {isByMember && (
        <SearchBox
          label="Name in the metadata"
          value={member}
          onSearch={(name) => change({ by: name ? `metadata.${name}` : undefined })}
        />
      )}
      <Checkbox
        label="Compare"
        value={search.compare !== undefined}
        onChange={(next) => change({ compare: next ? 'yes' : undefined })}
      />
      {children}
      <Button ref={filterButton} icon="filter" onClick={() => setFiltering(true)}>
        Filter
      </Button>
      <Chips
        search={search}
        onOpen={() => setFiltering(true)}
        onRemove={(name) => {
          change({ [name]: undefined });
          filterButton.current?.focus();
        }}
      />
      {filtering && <FilterDialog url={url} onClose={() => setFiltering(false)} />}
    </FilterBar>
  );
}

function groupChoices(organization: string | undefined) {
  const { organization: _, ...ofOne } = GROUP_WORDS;
  const words = organization === undefined ? GROUP_WORDS : ofOne;
  return Object.entries(words).map(([value, label]) => ({ value, label }));
}

interface ChipsProps {
  readonly search: ExploreState;
  readonly onOpen: () => void;
  readonly onRemove: (name: keyof ExploreState) => void;
}

/** The active filters with their values. */
function Chips({ search, onOpen, onRemove }: ChipsProps): ReactNode {
  const enabled = useOrganizationOfPage() !== undefined && search.key !== undefined;
  const { data } = useAsk('GET /api/organizations/:organization/keys', {}, { enabled });
  const nameOf = (value: string) => data?.keys.find(({ id }) => id === value)?.name ?? value;
  return filterWords(search, nameOf).map(([name, words]) => (
    <span key={name} className={styles.chip}>
      <button type="button" onClick={onOpen} data-hint={words}>
        {/* The end of the values is cut off, also of a name that is written from the right. */}
        {words.split(/(?<=^[^:]+: )/).map((part) => (
          <bdi key={part}>{part}</bdi>
        ))}
      </button>
      <button type="button" aria-label={`Remove ${words}`} onClick={() => onRemove(name)}>
        <Icon name="close" />
      </button>
    </span>
  ));
}
