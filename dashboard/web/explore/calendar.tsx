import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { IconButton } from '../components/button.tsx';
import { classNames } from '../components/class-names.ts';
import { type Days, dayByKey, dayName, dayOfMonth, monthName, weeksOf } from './calendar-days.ts';
import styles from './time-choice.module.css';

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

interface CalendarProps {
  readonly days: Days | undefined;
  /** Later days cannot be chosen. */
  readonly today: number;
  readonly onChoose: (days: Days) => void;
}

/** The focused day, and the first day of the range once it is chosen. */
function useDays({ days, today, onChoose }: CalendarProps) {
  const [cursor, setCursor] = useState(days?.[1] ?? today);
  const [first, setFirst] = useState<number>();
  const focused = useRef<HTMLButtonElement>(null);
  const byKey = useRef(false);
  useEffect(() => {
    if (byKey.current) focused.current?.focus();
    byKey.current = false;
  });
  const go = (key: string, shift = false) => {
    const next = dayByKey(cursor, key, shift);
    if (next !== undefined) setCursor(Math.max(0, Math.min(next, today)));
    return next !== undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    byKey.current = go(event.key, event.shiftKey);
    if (byKey.current) event.preventDefault();
  };
  const choose = (day: number) => {
    setCursor(day);
    setFirst(first === undefined ? day : undefined);
    if (first !== undefined) onChoose(first < day ? [first, day] : [day, first]);
  };
  const preview = (day: number) => first !== undefined && setCursor(day);
  const shown = first === undefined ? days : ([Math.min(first, cursor), Math.max(first, cursor)] as const);
  return { cursor, focused, shown, isChoosing: first !== undefined, go, onKeyDown, choose, preview };
}

/** A month in which the user chooses the first and the last day: ARIA's date grid. */
export function Calendar(props: CalendarProps): ReactNode {
  const { today } = props;
  const title = useId();
  const { cursor, focused, shown, isChoosing, go, onKeyDown, choose, preview } = useDays(props);
  const [from = -1, to = -1] = shown ?? [];
  const dayCell = (day: number) => (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: a cell of a grid is a gridcell.
    <td
      key={day}
      aria-selected={day >= from && day <= to}
      className={classNames(day >= from && day <= to && styles.within)}
    >
      <button
        ref={day === cursor ? focused : undefined}
        type="button"
        tabIndex={day === cursor ? 0 : -1}
        className={classNames(styles.day, (day === from || day === to) && styles.end)}
        disabled={day > today}
        aria-label={dayName(day)}
        aria-current={day === today ? 'date' : undefined}
        onClick={() => choose(day)}
        onPointerEnter={() => day <= today && preview(day)}
      >
        {dayOfMonth(day)}
      </button>
    </td>
  );
  return (
    <div className={styles.calendar}>
      <div className={styles.month}>
        <IconButton icon="chevronLeft" label="Previous month" onClick={() => go('PageUp')} />
        <strong id={title} aria-live="polite">
          {monthName(cursor)}
        </strong>
        <IconButton icon="chevronRight" label="Next month" onClick={() => go('PageDown')} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the date grid of ARIA is a table. */}
      <table role="grid" aria-labelledby={title} onKeyDown={onKeyDown}>
        <thead>
          <tr>
            {WEEKDAYS.map((name) => (
              <th key={name} scope="col" abbr={name}>
                {name.slice(0, 2)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOf(cursor).map((week, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: every month has its first week first.
            <tr key={index}>
              {/* biome-ignore lint/suspicious/noArrayIndexKey: a gap has no day that could name it. */}
              {week.map((day, weekday) => (day === undefined ? <td key={`gap-${weekday}`} /> : dayCell(day)))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted small" aria-live="polite">
        {isChoosing ? 'Choose the last day.' : 'Choose the first and the last day.'}
      </p>
    </div>
  );
}
