import { type ReactNode, useEffect, useState } from 'react';
import { type DayRange, DayRangeInput } from '../../forms/day-range-input.tsx';
import { type Days, objectionToDays } from './usage-days.ts';

export interface CustomDaysProps {
  readonly days: Days;
  readonly today: string;
  readonly onDays: (days: Days) => void;
}

/** Days that cannot be shown stay in the boxes with what is wrong with them; the page keeps the last ones that could. */
export function CustomDays({ days, today, onDays }: CustomDaysProps): ReactNode {
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
