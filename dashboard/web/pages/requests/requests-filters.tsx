import type { ReactNode } from 'react';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { Select } from '../../forms/select.tsx';
import { KeyFilter, ModelFilter } from '../../search/key-and-model-filters.tsx';
import { CustomTimes } from './custom-times.tsx';
import type { Range, RequestsUrlState } from './requests-url.ts';
import { hasRequestFilter } from './requests-url.ts';
import { resultChoice, resultChoices, resultFilter } from './result-choices.ts';

export interface RequestsFiltersProps {
  readonly organization: string;
  readonly search: RequestsUrlState;
  /** Absent fields stay unchanged. */
  readonly onChange: (next: RequestsUrlState) => void;
}

type RangeChoice = Range | 'any' | 'custom';

const RANGES: readonly { readonly value: RangeChoice; readonly label: string }[] = [
  { value: 'any', label: 'Any time' },
  { value: '15m', label: 'Last 15 minutes' },
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'custom', label: 'Custom' },
];
const HOUR_MS = 3_600_000;
/** All filters cleared. A filter without its entry does not compile. */
const NOTHING: Readonly<Record<Exclude<keyof RequestsUrlState, 'open'>, undefined>> = {
  range: undefined,
  fromMs: undefined,
  toMs: undefined,
  key: undefined,
  model: undefined,
  outcome: undefined,
  status: undefined,
  code: undefined,
  search: undefined,
};

export function RequestsFilters({ organization, search, onChange }: RequestsFiltersProps): ReactNode {
  const { range, fromMs, toMs, key, model } = search;
  const custom = fromMs !== undefined || toMs !== undefined;
  const result = resultChoice(search);
  // A search for an id ignores all filters, so changing one clears it.
  const choose = (next: RequestsUrlState) => onChange({ ...next, search: undefined });
  const chooseRange = (next: RangeChoice) => {
    if (next === 'custom')
      choose({ range: undefined, fromMs: startOfHour(Date.now() - 24 * HOUR_MS), toMs: undefined });
    else choose({ range: next === 'any' ? undefined : next, fromMs: undefined, toMs: undefined });
  };
  return (
    <FilterBar active={hasRequestFilter(search)} onClear={() => onChange(NOTHING)}>
      <SearchBox
        label="Request or generation id"
        value={search.search}
        onSearch={(text) => onChange({ ...NOTHING, search: text })}
      />
      <Select label="Time" value={custom ? 'custom' : (range ?? 'any')} onChange={chooseRange} choices={RANGES} />
      {custom && <CustomTimes times={{ fromMs, toMs }} onChange={choose} />}
      <KeyFilter organization={organization} value={key} onChange={(next) => choose({ key: next })} />
      <ModelFilter organization={organization} value={model} onChange={(next) => choose({ model: next })} />
      <Select
        label="Result"
        value={result}
        onChange={(next) => choose(resultFilter(next))}
        choices={resultChoices(result)}
      />
    </FilterBar>
  );
}

function startOfHour(atMs: number): number {
  return atMs - (atMs % HOUR_MS);
}
