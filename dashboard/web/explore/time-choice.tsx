import { type ReactNode, useId, useRef, useState } from 'react';
import { Button } from '../components/button.tsx';
import { loadedLater } from '../components/loaded-later.tsx';
import { spanText } from './calendar-days.ts';
import styles from './time-choice.module.css';
import type { TimeChoiceProps } from './time-panel.tsx';

// Loaded later, because the charts do not need the calendar.
const TimePanel = loadedLater(() => import('./time-panel.tsx').then((module) => module.TimePanel));

/** A button for the page's range: named ranges, and a calendar for others. */
export function TimeChoice<Range extends string>(props: TimeChoiceProps<Range>): ReactNode {
  const { url, ranges, usual, utc = false } = props;
  const { range = usual, fromMs, toMs } = url.search;
  const isCustom = fromMs !== undefined || toMs !== undefined;
  const text = isCustom ? spanText(fromMs, toMs, utc) : ranges[range];
  const id = useId();
  const popup = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<{ readonly top: number; readonly left: number }>();
  return (
    <>
      <Button
        icon="audit"
        popoverTarget={id}
        aria-haspopup="dialog"
        aria-expanded={place !== undefined}
        aria-label={`Time: ${text}`}
        onClick={({ currentTarget }) => {
          const { left, bottom } = currentTarget.getBoundingClientRect();
          setPlace({ left, top: bottom + scrollY + 4 });
        }}
      >
        {text}
      </Button>
      <div
        ref={popup}
        id={id}
        popover="auto"
        role="dialog"
        aria-label="Time"
        className={styles.popup}
        style={place && { top: place.top, left: `max(8px, min(${place.left}px, 100vw - 8px - var(--width)))` }}
        onToggle={({ newState }) => newState === 'closed' && setPlace(undefined)}
      >
        {place && (
          <TimePanel
            {...(props as unknown as TimeChoiceProps<string>)}
            utc={utc}
            onDone={() => popup.current?.hidePopover()}
          />
        )}
      </div>
    </>
  );
}
