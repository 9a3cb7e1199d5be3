import type { UseQueryResult } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { createContext, type ReactNode, useContext, useEffect, useId, useRef } from 'react';
import type { ApiProblem } from '../api/api.ts';
import { Button, LinkButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icon.tsx';
import styles from './panels.module.css';
import { PRODUCT } from './product.ts';
import type { Tone } from './values.tsx';

export interface PageHeaderProps {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** Link to the documentation, such as `api.html#alerts`. */
  readonly help?: string;
}

/** Name of the page's organization, for the tab's title. */
export const TitlePlace = createContext<string | undefined>(undefined);

/** The first page does not take the focus, which the browser has chosen. */
let firstPath: string | undefined;

/** A page's heading and title. Takes the focus after navigation: screen readers start there. */
export function PageHeader({ title, description, actions, help }: PageHeaderProps): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  const path = useLocation({ select: (location) => location.pathname });
  const place = useContext(TitlePlace);
  useEffect(() => {
    firstPath ??= path;
    if (firstPath === path) return;
    firstPath = '';
    heading.current?.focus();
  }, [path]);
  return (
    <header className={styles.header}>
      <title>{[title, place, PRODUCT].filter(Boolean).join(' · ')}</title>
      <div className={styles.words}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {description && (
          <p className={styles.description}>
            {description}
            {help && (
              <>
                {' '}
                <a href={`/docs/${help}`} target="_blank" rel="noopener">
                  Learn more<span className="visually-hidden"> about {title}</span>
                </a>
              </>
            )}
          </p>
        )}
      </div>
      {actions && <div className="row">{actions}</div>}
    </header>
  );
}

interface CardProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Card({ title, actions, children }: CardProps): ReactNode {
  const id = useId();
  return (
    <section className={styles.card} {...(title !== undefined && { 'aria-labelledby': id })}>
      {(title !== undefined || actions) && (
        <header className={styles.head}>
          <h2 id={id}>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

interface StatProps {
  readonly label: string;
  /** Absent while loading. */
  readonly value: ReactNode;
  /** One line below the value, with a comparison or limit. */
  readonly note?: ReactNode;
}

/** One figure. The box has the same size before the value is loaded. */
export function Stat({ label, value, note }: StatProps): ReactNode {
  return (
    <div className={styles.stat}>
      <dt className="muted">{label}</dt>
      <dd className={styles.value}>{value ?? <Skeleton width="60%" />}</dd>
      <dd className="muted small">{note ?? '\u00a0'}</dd>
    </div>
  );
}

/** A row with as many figures as fit. */
export function StatRow({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className={styles.stats}>{children}</dl>;
}

interface BannerProps {
  readonly tone: Exclude<Tone, 'accent'>;
  readonly title?: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

/** Important information. Announced by screen readers if it is bad. */
export function Banner({ tone, title, children, action }: BannerProps): ReactNode {
  return (
    <div className={styles.banner} data-tone={tone} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={tone === 'good' ? 'check' : tone === 'neutral' ? 'info' : 'errors'} className={styles.sign} />
      <div className={styles.text}>
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}

interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

/** Replaces an empty list or one without matches. Shows the reason and what to do. */
export function EmptyState({ icon, title, children, action }: EmptyStateProps): ReactNode {
  return (
    <div className={styles.empty}>
      <span className={styles.icon}>
        <Icon name={icon} />
      </span>
      <p className={styles.title}>{title}</p>
      {children && <div className={styles.reason}>{children}</div>}
      {action && <div className={styles.action}>{action}</div>}
    </div>
  );
}

const TITLES: Partial<Record<ApiProblem['problem'], string>> = {
  unreachable: 'The dashboard server cannot be reached',
  timed_out: 'The dashboard server did not answer in time',
  unavailable: 'This cannot be read right now',
  not_allowed: 'You have no access to this',
  not_found: 'Not found',
};

export function ErrorState({
  problem,
  onRetry,
}: {
  readonly problem: ApiProblem;
  readonly onRetry: () => void;
}): ReactNode {
  const title = TITLES[problem.problem] ?? 'This could not be loaded';
  return (
    <div role="alert">
      <EmptyState
        icon={problem.problem === 'not_allowed' ? 'lock' : 'errors'}
        title={title}
        action={
          // Trying again does not change the rights.
          problem.problem === 'not_found' ? (
            <LinkButton to="/">To the overview</LinkButton>
          ) : (
            problem.problem !== 'not_allowed' && (
              <Button icon="refresh" onClick={onRetry}>
                Try again
              </Button>
            )
          )
        }
      >
        {problem.message !== `${title}.` && problem.message}
      </EmptyState>
    </div>
  );
}

/** A query of useAsk or useAskPages. */
export type Query<Data> = Pick<UseQueryResult<Data, ApiProblem>, 'data' | 'error'> & {
  readonly refetch: () => Promise<unknown>;
};

/** Shows the problem of a query without data. While it loads, the children show skeletons. */
export function UnlessFailed(props: { readonly query: Query<unknown>; readonly children: ReactNode }): ReactNode {
  const { query, children } = props;
  if (query.data !== undefined || !query.error) return children;
  return <ErrorState problem={query.error} onRetry={() => void query.refetch()} />;
}

interface LoadedProps<Data> {
  readonly query: Query<Data>;
  /** Has the same size as the content. */
  readonly skeleton: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** Shows loading, failure or data. Data stays after a failed refetch, which a banner reports. */
export function Loaded<Data>({ query, skeleton, children }: LoadedProps<Data>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  return (
    <UnlessFailed query={query}>
      <div aria-busy="true" className="contents">
        <span className="visually-hidden" role="status">
          Loading
        </span>
        {skeleton}
      </div>
    </UnlessFailed>
  );
}

interface StaleProps {
  readonly isStale: boolean;
  readonly children: ReactNode;
}

/** Dims the data of the former choice while the data of the new one loads. */
export function Stale({ isStale, children }: StaleProps): ReactNode {
  return (
    <div className={classNames(styles.fresh, isStale && styles.stale)} aria-busy={isStale}>
      {children}
    </div>
  );
}

interface SkeletonProps {
  readonly width?: string;
  /** Default: the line height of the surrounding text. */
  readonly height?: string;
}

export function Skeleton({ width = '100%', height }: SkeletonProps): ReactNode {
  return <span className={styles.skeleton} style={{ width, ...(height && { height }) }} aria-hidden="true" />;
}
