import { type ReactNode, useEffect, useState } from 'react';
import { Select } from '../../forms/choices.tsx';
import { LocalDateTimeInput } from '../../forms/date-inputs.tsx';
import { Field } from '../../forms/field.tsx';
import { SearchBox } from '../../forms/filter-bar.tsx';
import { KeyFilter, ModelFilter } from '../../search/filters.tsx';
import { type RequestsState, requestsSearch } from '../searches.ts';
import type { Range } from './request-filter.ts';
import { resultChoice, resultChoices, resultFilter } from './request-filter.ts';

const RANGES: Readonly<Record<Range | 'any' | 'custom', string>> = {
  any: 'Any time',
  '15m': 'Last 15 minutes',
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  custom: 'Custom',
};
const HOUR_MS = 3_600_000;

export interface RequestsFiltersProps {
  readonly organization: string;
  readonly search: RequestsState;
  /** Absent fields stay unchanged. */
  readonly onChange: (next: RequestsState) => void;
}

export function RequestsFilters({ organization, search, onChange }: RequestsFiltersProps): ReactNode {
  const { range, fromMs, toMs, key, model } = search;
  const custom = fromMs !== undefined || toMs !== undefined;
  const result = resultChoice(search);
  // A search for an id ignores all filters, so changing one clears it.
  const choose = (next: RequestsState) => onChange({ ...next, search: undefined });
  const chooseRange = (next: Range | 'any' | 'custom') => {
    const nowMs = Date.now();
    if (next === 'custom')
      choose({ range: undefined, fromMs: nowMs - (nowMs % HOUR_MS) - 24 * HOUR_MS, toMs: undefined });
    else choose({ range: next === 'any' ? undefined : next, fromMs: undefined, toMs: undefined });
  };
  return (
    <>
      <SearchBox
        label="Request or generation id"
        value={search.search}
        onSearch={(text) => onChange({ ...requestsSearch.unfiltered, search: text })}
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
    </>
  );
}

type Times = Pick<RequestsState, 'fromMs' | 'toMs'>;

interface CustomTimesProps {
  readonly times: Times;
  readonly onChange: (times: Times) => void;
}

/** A half-typed year is also valid. */
const EARLIEST_MS = Date.UTC(2000, 0);

/**
 * From and to in the reader's zone. Invalid values stay in the boxes, and the list keeps the last
 * valid ones.
 */
function CustomTimes({ times: { fromMs, toMs }, onChange }: CustomTimesProps): ReactNode {
  const [draft, setDraft] = useState<Times>({ fromMs, toMs });
  useEffect(() => setDraft({ fromMs, toMs }), [fromMs, toMs]);
  const problem = problemOf(draft);
  const change = (next: Times) => {
    setDraft(next);
    const given = [next.fromMs, next.toMs].filter((atMs) => atMs !== undefined);
    if (given.length > 0 && given.every((atMs) => atMs >= EARLIEST_MS) && problemOf(next) === undefined) onChange(next);
  };
  return (
    <div className="row">
      <Field label="From" hideLabel>
        <LocalDateTimeInput value={draft.fromMs} onChange={(next) => change({ ...draft, fromMs: next })} />
      </Field>
      <span aria-hidden="true">–</span>
      <Field label="To" hideLabel>
        <LocalDateTimeInput value={draft.toMs} onChange={(next) => change({ ...draft, toMs: next })} />
      </Field>
      <span role="alert" className="bad small">
        {problem}
      </span>
    </div>
  );
}

function problemOf({ fromMs, toMs }: Times): string | undefined {
  return fromMs !== undefined && toMs !== undefined && fromMs >= toMs ? 'The end must be after the start.' : undefined;
}
