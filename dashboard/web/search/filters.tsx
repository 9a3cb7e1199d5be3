import { type ReactNode, useEffect, useState } from 'react';
import { present } from '#core/present.ts';
import { type Choice, Select } from '../forms/choices.tsx';
import { type DayRange, DayRangeInput } from '../forms/date-inputs.tsx';
import { SearchBox } from '../forms/filter-bar.tsx';
import {
  type Days,
  type DaysUrl,
  DEFAULT_PRESET,
  localDay,
  objectionToDays,
  objectionToTimes,
  type Preset,
  type Span,
  type TimeRange,
} from './days.ts';
import type { Url } from './use-url.ts';

interface PeriodFilterProps<Range extends string> {
  readonly label: string;
  /** Accessible name of the days: `Days of UTC`. */
  readonly legend: string;
  readonly value: DaysUrl<Range>;
  readonly onChange: (value: DaysUrl<Range>) => void;
  readonly ranges: Readonly<Record<string, string>>;
  /** The choice that stands for no range. */
  readonly usual: string;
  /** Days that a choice of custom days begins with. */
  readonly first: DayRange;
  readonly objection: (days: DayRange) => string | undefined;
  readonly max?: string;
}

/** A range or custom days. Invalid ones stay in the boxes; the page keeps the last valid. */
function PeriodFilter<Range extends string>(props: PeriodFilterProps<Range>): ReactNode {
  const { value, onChange, ranges, usual, objection } = props;
  const { range, from, to } = value;
  const isCustom = (from ?? to) !== undefined;
  const [draft, setDraft] = useState<DayRange>({ from, to });
  useEffect(() => setDraft({ from, to }), [from, to]);
  const choose = (next: string) => {
    const days = next === 'custom' ? props.first : {};
    const chosen = next === 'custom' || next === usual ? undefined : (next as Range);
    onChange({ range: chosen, from: days.from, to: days.to });
  };
  return (
    <>
      <Select
        label={props.label}
        value={isCustom ? 'custom' : (range ?? usual)}
        onChange={choose}
        choices={{ ...ranges, custom: 'Custom days' }}
      />
      {isCustom && (
        <DayRangeInput
          label={props.legend}
          value={draft}
          problem={objection(draft)}
          {...present({ max: props.max })}
          onChange={(next) => {
            setDraft(next);
            const isSome = (next.from ?? next.to) !== undefined;
            if (isSome && objection(next) === undefined) onChange({ range: undefined, from: next.from, to: next.to });
          }}
        />
      )}
    </>
  );
}

const REPORT_RANGES: Readonly<Record<Preset, string>> = {
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
};

interface DaysFilterProps {
  readonly value: DaysUrl;
  /** The chosen days. */
  readonly days: Days;
  readonly today: string;
  readonly onChange: (value: DaysUrl) => void;
}

/** Days of a report, which are days of UTC. */
export function DaysFilter({ days, today, ...rest }: DaysFilterProps): ReactNode {
  return (
    <PeriodFilter
      {...rest}
      label="Days"
      legend="Days of UTC"
      ranges={REPORT_RANGES}
      usual={DEFAULT_PRESET}
      first={days}
      max={today}
      objection={({ from = '', to = '' }) => objectionToDays({ from, to })}
    />
  );
}

const LIST_RANGES: Readonly<Record<Span | 'all', string>> = {
  all: 'All time',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
};

interface TimeFilterProps {
  readonly value: TimeRange;
  readonly onChange: (value: TimeRange) => void;
}

/** Time of the rows of a list, by days in the reader's zone. */
export function TimeFilter(props: TimeFilterProps): ReactNode {
  const today = localDay(Date.now());
  return (
    <PeriodFilter
      {...props}
      label="Time"
      legend="Days in your zone"
      ranges={LIST_RANGES}
      usual="all"
      first={{ from: today, to: today }}
      objection={objectionToTimes}
    />
  );
}

/** A link may name a key or model that the list does not have. */
export function withChosen(
  known: readonly Choice<string>[],
  chosen: string | undefined,
  label = chosen,
): readonly Choice<string>[] {
  if (chosen === undefined || label === undefined || known.some(({ value }) => value === chosen)) return known;
  return [...known, { value: chosen, label }];
}

export interface SearchFilterProps {
  readonly label: string;
  readonly url: Url<{ readonly search?: string | undefined }>;
}

/** The search of a list, letter by letter. Blanks alone search for nothing. */
export function SearchFilter({ label, url: { search, change } }: SearchFilterProps): ReactNode {
  const onSearch = (text?: string) => change({ search: text?.trim() ? text : undefined });
  return <SearchBox label={label} value={search.search} live onSearch={onSearch} />;
}
