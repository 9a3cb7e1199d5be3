import { Fragment, type ReactNode, useEffect, useState } from 'react';
import { serverMs } from '../api/server-clock.ts';
import {
  formatCompact,
  formatCount,
  formatDate,
  formatDue,
  formatDuration,
  formatInstant,
  formatMoney,
  formatMoneyExactly,
  formatRelative,
  formatShortInstant,
  formatUtc,
} from '../format/format.ts';
import { classNames } from './class-names.ts';
import styles from './values.module.css';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent';

/** A coloured word for a scope, role, capability or code. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <span className={styles.badge} data-tone={tone}>
      {children}
    </span>
  );
}

/** A status with a dot, so that colour is never the only sign. */
export function StatusPill({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return (
    <span className={classNames(styles.badge, styles.pill)} data-tone={tone}>
      <span className={styles.dot} aria-hidden="true" />
      {children}
    </span>
  );
}

/** Labels with values: `<Facts of={{ Model: 'gpt-5' }} />`. Absent values are left out. */
export function Facts({ of: facts }: { readonly of: Readonly<Record<string, ReactNode>> }): ReactNode {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== false);
  return (
    <dl className={styles.facts}>
      {known.map(([label, value]) => (
        <div key={label} className={styles.fact}>
          <dt className="muted">{label}</dt>
          <dd className={styles.value}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Muted({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className="muted">{children}</span>;
}

/** A dash for an absent value. The words give the reason. */
export function Dash({ words, hint }: { readonly words: string; readonly hint?: string }): ReactNode {
  return (
    <span className="muted" data-hint={hint}>
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">{words}</span>
    </span>
  );
}

/** An IP address that breaks between its numbers, if it must. */
export function Address({ of: address }: { readonly of: string }): ReactNode {
  return address.split(/(?<=[.:])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of an address have no other name.
    <Fragment key={index}>
      <wbr />
      {part}
    </Fragment>
  ));
}

interface DetailedProps {
  readonly children: ReactNode;
  /** A smaller line below the value. */
  readonly detail?: ReactNode;
}

/** A value with a detail below, for example in a table cell. */
export function Detailed({ children, detail }: DetailedProps): ReactNode {
  return (
    <span className="stack">
      <span>{children}</span>
      {detail && <span className="muted small">{detail}</span>}
    </span>
  );
}

/** A number. From ten thousand on it is shortened (`12.3K`), with the exact number as a tooltip. */
export function Count({ value }: { readonly value: number }): ReactNode {
  const shown = formatCompact(value);
  const exact = formatCount(value);
  return (
    <span className={styles.figure} data-hint={shown === exact ? undefined : exact}>
      {shown}
    </span>
  );
}

export function Duration({ milliseconds }: { readonly milliseconds: number }): ReactNode {
  return <span className={styles.figure}>{formatDuration(milliseconds)}</span>;
}

interface MoneyProps {
  readonly nanoUsd: string;
  /** Reserves room for six decimals (fractions of a cent), so that points are aligned. */
  readonly aligned?: boolean;
}

/** An amount. If digits are left out, the tooltip shows all of them. */
export function Money({ nanoUsd, aligned = false }: MoneyProps): ReactNode {
  const shown = formatMoney(nanoUsd);
  const room = aligned ? '000000'.slice(shown.length - shown.indexOf('.') - 1) : undefined;
  const exact = formatMoneyExactly(nanoUsd);
  const same = Number(exact.replaceAll(/[−$]/g, '')) === Number(shown.replaceAll(/[−$,]/g, ''));
  return (
    <span className={styles.figure} data-hint={same ? undefined : exact} data-room={room}>
      {shown}
    </span>
  );
}

interface InstantProps {
  readonly atMs: number;
  /** `short` omits today. `relative`: "5 minutes ago". `due`: never past. `full` adds UTC. */
  readonly show?: keyof typeof TEXTS;
}

const TICK_MS = 30_000;

const TEXTS = {
  instant: formatInstant,
  short: formatShortInstant,
  relative: formatRelative,
  due: formatDue,
  date: formatDate,
  full: formatInstant,
};

/** A moment in the reader's time zone. The tooltip shows UTC. */
export function Instant({ atMs, show = 'instant' }: InstantProps): ReactNode {
  const isRelative = show === 'relative' || show === 'due';
  const nowMs = useNow(isRelative);
  const utc = formatUtc(atMs);
  const isShort = isRelative || show === 'short';
  return (
    <time
      className={classNames(styles.figure, show === 'full' && styles.full)}
      dateTime={new Date(atMs).toISOString()}
      data-hint={[isShort && formatInstant(atMs), utc].filter(Boolean).join(' · ')}
    >
      {TEXTS[show](atMs, nowMs)}
      {show === 'full' && <span className="muted">{utc}</span>}
    </time>
  );
}

/** How long ago something last happened, or "Never". */
export function LastTime({ atMs }: { readonly atMs: number | undefined }): ReactNode {
  if (atMs === undefined) return <span className="muted">Never</span>;
  return <Instant atMs={atMs} show="relative" />;
}

function useNow(ticking: boolean): number {
  const [nowMs, setNowMs] = useState(() => serverMs());
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNowMs(serverMs()), TICK_MS);
    return () => clearInterval(timer);
  }, [ticking]);
  return nowMs;
}

interface ProgressBarProps {
  /** Accessible name: `Spend today against the daily budget`. */
  readonly label: string;
  /** From 0 to 1. Larger values fill the bar. */
  readonly fraction: number;
  /** Accessible value: `$3.10 of $50.00`. */
  readonly text: string;
}

/** The used part of a budget. Warns at 80 %, turns bad at 100 %. */
export function ProgressBar({ label, fraction, text }: ProgressBarProps): ReactNode {
  const share = Math.min(1, Math.max(0, fraction));
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : undefined;
  return (
    <div
      className={styles.track}
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(share * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuetext={text}
    >
      <div className={styles.bar} data-tone={tone} style={{ width: `${share * 100}%` }} />
    </div>
  );
}

export function CodeLines({ of: lines }: { readonly of: readonly string[] }): ReactNode {
  return (
    <ul className="stack">
      {lines.map((line) => (
        <li key={line}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}
