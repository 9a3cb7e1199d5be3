import { type ReactNode, useEffect, useState } from 'react';
import { type DayRange, DayRangeInput } from '../forms/day-range-input.tsx';
import { Select } from '../forms/select.tsx';
import { type Days, type DaysUrl, DEFAULT_PRESET, objectionToDays, type Preset } from './days.ts';

export interface DaysFilterProps {
  readonly url: DaysUrl;
  /** The chosen days. */
  readonly days: Days;
  readonly today: string;
  /** The default is an empty object. */
  readonly onDays: (url: DaysUrl) => void;
}

const RANGES: readonly { readonly value: Preset | 'custom'; readonly label: string }[] = [
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: '90d', label: 'Last 90 days' },
  { value: 'month', label: 'This month' },
  { value: 'last-month', label: 'Last month' },
  { value: 'custom', label: 'Custom days' },
];

export function DaysFilter({ url, days, today, onDays }: DaysFilterProps): ReactNode {
  const isCustom = url.from !== undefined;
  return (
    <>
      <Select
        label="Days"
        value={isCustom ? 'custom' : (url.range ?? DEFAULT_PRESET)}
        onChange={(next) => onDays(next === 'custom' ? days : next === DEFAULT_PRESET ? {} : { range: next })}
        choices={RANGES}
      />
      {isCustom && <CustomDays days={days} today={today} onDays={onDays} />}
    </>
  );
}

interface CustomDaysProps {
  readonly days: Days;
  readonly today: string;
  readonly onDays: (days: Days) => void;
}

/** Invalid days stay in the boxes with their problem. The page keeps the last valid ones. */
function CustomDays({ days, today, onDays }: CustomDaysProps): ReactNode {
  const [draft, setDraft] = useState<DayRange>(days);
  useEffect(() => setDraft(days), [days]);
  const complete = { from: draft.from ?? '', to: draft.to ?? '' };
  return (
    <DayRangeInput
      label="Days of UTC"
      value={draft}
      max={today}
      problem={objectionToDays(complete)}
      onChange={(next) => {
        setDraft(next);
        const chosen = { from: next.from ?? '', to: next.to ?? '' };
        if (objectionToDays(chosen) === undefined) onDays(chosen);
      }}
    />
  );
}
