import { type ReactNode, useEffect, useState } from 'react';
import { present } from '#core/present.ts';
import { type DayRange, DayRangeInput } from '../forms/day-range-input.tsx';
import { Select } from '../forms/select.tsx';
import { localDay, objectionToDays, type Span, type TimeRange } from './time-range.ts';

export interface TimeFilterProps {
  readonly times: TimeRange;
  readonly onTimes: (times: TimeRange) => void;
}

type RangeChoice = Span | 'all' | 'custom';

const RANGES: readonly { readonly value: RangeChoice; readonly label: string }[] = [
  { value: 'all', label: 'All time' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: '90d', label: 'Last 90 days' },
  { value: 'custom', label: 'Custom days' },
];

export function TimeFilter({ times: { range, from, to }, onTimes }: TimeFilterProps): ReactNode {
  const custom = from !== undefined || to !== undefined;
  const chooseRange = (next: RangeChoice) => {
    const today = localDay(Date.now());
    if (next === 'custom') onTimes({ from: today, to: today });
    else onTimes(next === 'all' ? {} : { range: next });
  };
  return (
    <>
      <Select label="Time" value={custom ? 'custom' : (range ?? 'all')} onChange={chooseRange} choices={RANGES} />
      {custom && <LocalDays from={from} to={to} onDays={onTimes} />}
    </>
  );
}

interface LocalDaysProps extends DayRange {
  readonly onDays: (days: TimeRange) => void;
}

/** Invalid days stay in the boxes with their problem. The page keeps the last valid ones. */
function LocalDays({ from, to, onDays }: LocalDaysProps): ReactNode {
  const [draft, setDraft] = useState<DayRange>({ from, to });
  useEffect(() => setDraft({ from, to }), [from, to]);
  return (
    <DayRangeInput
      label="Days in your zone"
      value={draft}
      problem={objectionToDays(present(draft))}
      onChange={(next) => {
        setDraft(next);
        const days = present(next);
        const some = days.from !== undefined || days.to !== undefined;
        if (some && objectionToDays(days) === undefined) onDays(days);
      }}
    />
  );
}
