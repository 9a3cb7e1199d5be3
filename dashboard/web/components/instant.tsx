import { type ReactNode, useEffect, useState } from 'react';
import { formatDate, formatInstant, formatRelative, formatUtc } from '../format/format-instant.ts';
import styles from './figure.module.css';

export interface InstantProps {
  readonly atMs: number;
  /** `relative`: 5 minutes ago; `date`: without the time; `full`: with UTC beside it, for details. */
  readonly show?: 'instant' | 'relative' | 'date' | 'full';
  /** More to say on hover. */
  readonly note?: string | undefined;
}

const TICK_MS = 30_000;

/** A moment in the zone of who reads it, in UTC on hover. */
export function Instant({ atMs, show = 'instant', note }: InstantProps): ReactNode {
  const nowMs = useNow(show === 'relative');
  const utc = formatUtc(atMs);
  const text =
    show === 'relative' ? formatRelative(atMs, nowMs) : show === 'date' ? formatDate(atMs) : formatInstant(atMs);
  return (
    <time
      className={styles.figure}
      dateTime={new Date(atMs).toISOString()}
      data-hint={[show === 'relative' && formatInstant(atMs), utc, note].filter(Boolean).join(' · ')}
    >
      {text}
      {show === 'full' && <span className={styles.exact}>{utc}</span>}
    </time>
  );
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
