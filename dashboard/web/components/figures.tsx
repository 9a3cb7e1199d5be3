import { type ReactNode, useEffect, useState } from 'react';
import { formatDate, formatInstant, formatRelative, formatShortInstant, formatUtc } from '../format/format-instant.ts';
import { formatMoney, formatMoneyExactly } from '../format/format-money.ts';
import { formatCompact, formatCount, formatDuration } from '../format/format-number.ts';
import { classNames } from './class-names.ts';
import styles from './figures.module.css';

/** A number: short from ten thousand on (`12.3K`), exact as a tooltip. */
export function Count({ value }: { readonly value: number }): ReactNode {
  const shown = formatCompact(value);
  const exact = formatCount(value);
  return (
    <span className={styles.figure} data-hint={shown === exact ? undefined : exact}>
      {shown}
    </span>
  );
}

/** A duration: `840 ms`, `1.24 s`. */
export function Duration({ milliseconds }: { readonly milliseconds: number }): ReactNode {
  return <span className={styles.figure}>{formatDuration(milliseconds)}</span>;
}

/** An amount. The tooltip has all digits if some are not shown. */
export function Money({ nanoUsd }: { readonly nanoUsd: string }): ReactNode {
  const shown = formatMoney(nanoUsd);
  const exact = formatMoneyExactly(nanoUsd);
  const same = Number(exact.replaceAll(/[−$]/g, '')) === Number(shown.replaceAll(/[−$,]/g, ''));
  return (
    <span className={styles.figure} data-hint={same ? undefined : exact}>
      {shown}
    </span>
  );
}

export interface InstantProps {
  readonly atMs: number;
  /**
   * `short` leaves out today's date, for dense lists; `relative`: 5 minutes ago; `date` has no
   * time; `full` adds UTC.
   */
  readonly show?: 'instant' | 'short' | 'relative' | 'date' | 'full';
  /** Added to the tooltip. */
  readonly note?: string | undefined;
}

const TICK_MS = 30_000;

/** A moment in the reader's zone. The tooltip has UTC. */
export function Instant({ atMs, show = 'instant', note }: InstantProps): ReactNode {
  const nowMs = useNow(show === 'relative');
  const utc = formatUtc(atMs);
  const isShort = show === 'relative' || show === 'short';
  return (
    <time
      className={classNames(styles.figure, show === 'full' && styles.full)}
      dateTime={new Date(atMs).toISOString()}
      data-hint={[isShort && formatInstant(atMs), utc, note].filter(Boolean).join(' · ')}
    >
      {textOf(atMs, show, nowMs)}
      {show === 'full' && <span className={styles.exact}>{utc}</span>}
    </time>
  );
}

/** How long ago something happened last, or that it never did. */
export function LastTime({ atMs, note }: { readonly atMs: number | undefined; readonly note?: string | undefined }) {
  if (atMs === undefined) return <span className="muted">Never</span>;
  return <Instant atMs={atMs} show="relative" note={note} />;
}

function textOf(atMs: number, show: InstantProps['show'], nowMs: number): string {
  switch (show) {
    case 'relative':
      return formatRelative(atMs, nowMs);
    case 'short':
      return formatShortInstant(atMs, nowMs);
    case 'date':
      return formatDate(atMs);
    default:
      return formatInstant(atMs);
  }
}

function useNow(ticking: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [ticking]);
  return nowMs;
}
