import { type ReactNode, useEffect, useRef } from 'react';
import type { TimeState } from '#contract/explore-search.ts';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import { serverMs } from '../api/server-clock.ts';
import inputStyles from '../forms/inputs.module.css';
import type { Url } from '../search/use-url.ts';
import { Calendar } from './calendar.tsx';
import { type Days, LOCAL_DAYS, shortDay, zoneOf } from './calendar-days.ts';
import styles from './time-choice.module.css';

export interface TimeChoiceProps<Range extends string> {
  readonly url: Pick<Url<TimeState<Range>>, 'search' | 'change'>;
  readonly ranges: Readonly<Record<Range, string>>;
  /** The default range, if the address has none. */
  readonly usual: Range;
  /** Whole UTC days. Default: days and times in the reader's zone, but UTC days for long ranges. */
  readonly utc?: boolean;
}

/** The time of day can be chosen for ranges up to this length. */
const SHORT_MS = 3 * DAY_MS;

interface TimePanelProps extends Required<TimeChoiceProps<string>> {
  readonly onDone: () => void;
}

/** The named ranges next to a calendar. */
export function TimePanel({ url, ranges, usual, utc, onDone }: TimePanelProps): ReactNode {
  const { range, fromMs, toMs } = url.search;
  const nowMs = serverMs();
  const isCustom = fromMs !== undefined || toMs !== undefined;
  const zone = zoneOf(isCustom ? (toMs ?? nowMs) - (fromMs ?? 0) : 0, utc);
  const days: Days | undefined = isCustom ? [zone.dayOf(fromMs ?? 0), zone.dayOf((toMs ?? nowMs) - 1)] : undefined;
  const chosen = useRef<HTMLButtonElement>(null);
  useEffect(() => chosen.current?.focus(), []);
  const change = (from: number, to: number) => url.change({ range: undefined, fromMs: from, toMs: to });
  const choose = ([first, last]: Days) => {
    const { momentOf } = zoneOf((last + 1 - first) * DAY_MS, utc);
    change(momentOf(first), momentOf(last + 1));
  };
  const isShort = fromMs !== undefined && toMs !== undefined && toMs - fromMs <= SHORT_MS;
  return (
    <div className={styles.panel}>
      <fieldset className={styles.ranges}>
        <legend className="visually-hidden">Common ranges</legend>
        {Object.entries(ranges).map(([name, label], index) => (
          <button
            key={name}
            ref={(isCustom ? index === 0 : name === (range ?? usual)) ? chosen : undefined}
            type="button"
            aria-pressed={!isCustom && name === (range ?? usual)}
            onClick={() => {
              url.change({ range: name, fromMs: undefined, toMs: undefined });
              onDone();
            }}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <div>
        <Calendar days={days} today={Math.max(zone.dayOf(nowMs), zoneOf(0, utc).dayOf(nowMs))} onChoose={choose} />
        {isShort && !utc && <Times fromMs={fromMs} toMs={toMs} onChange={change} />}
      </div>
    </div>
  );
}

interface TimesProps {
  readonly fromMs: number;
  readonly toMs: number;
  readonly onChange: (fromMs: number, toMs: number) => void;
}

/** Midnight in the second box means the end of the last day. */
function Times({ fromMs, toMs, onChange }: TimesProps): ReactNode {
  const [first, last] = [LOCAL_DAYS.dayOf(fromMs), LOCAL_DAYS.dayOf(toMs - 1)];
  const change = (from: number, to: number) => from < to && onChange(from, to);
  return (
    <div className={styles.times}>
      <TimeBox label="From" atMs={fromMs} onChange={(minutes) => change(LOCAL_DAYS.momentOf(first, minutes), toMs)} />
      <TimeBox
        label="To"
        atMs={toMs}
        onChange={(minutes) => change(fromMs, LOCAL_DAYS.momentOf(last, minutes || DAY_MS / MINUTE_MS))}
      />
      {LOCAL_DAYS.minutesOf(toMs) === 0 && <p className="muted small">To the end of {shortDay(last)}.</p>}
    </div>
  );
}

interface TimeBoxProps {
  readonly label: string;
  readonly atMs: number;
  readonly onChange: (minutes: number) => void;
}

/** Reports the time when the box loses the focus, because a half-typed time may be valid too. */
function TimeBox({ label, atMs, onChange }: TimeBoxProps): ReactNode {
  const minutes = LOCAL_DAYS.minutesOf(atMs);
  const text = [minutes / 60, minutes % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
  return (
    <label className="small">
      {label}
      <input
        key={atMs}
        className={inputStyles.input}
        type="time"
        defaultValue={text}
        onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
        onBlur={({ target }) => {
          const [hour = Number.NaN, minute = 0] = target.value.split(':').map(Number);
          if (target.value !== '' && target.value !== text) onChange(hour * 60 + minute);
          // Restores the text of a refused time. An accepted time is the box's key, and so replaces
          // the box.
          target.value = text;
        }}
      />
    </label>
  );
}
