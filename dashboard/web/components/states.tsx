import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiProblem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Loading } from './skeleton.tsx';
import styles from './states.module.css';

export interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

/** An empty list, or a filter without matches: the reason and what to do. */
export function EmptyState({ icon, title, children, action }: EmptyStateProps): ReactNode {
  return (
    <div className={styles.empty}>
      <span className={styles.icon}>
        <Icon name={icon} />
      </span>
      <p className={styles.title}>{title}</p>
      {children && <div className={styles.text}>{children}</div>}
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

/** Replaces content that could not be loaded. */
export function ErrorState({
  problem,
  onRetry,
}: {
  readonly problem: ApiProblem;
  readonly onRetry?: () => void;
}): ReactNode {
  const title = TITLES[problem.problem] ?? 'This could not be loaded';
  return (
    <div role="alert">
      <EmptyState
        icon={problem.problem === 'not_allowed' ? 'lock' : 'errors'}
        title={title}
        action={
          // A retry does not change the rights.
          problem.problem !== 'not_allowed' &&
          onRetry && (
            <Button icon="refresh" onClick={onRetry}>
              Try again
            </Button>
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

/**
 * Shows the problem of a query that has loaded nothing. The children show skeletons while it loads.
 */
export function UnlessFailed(props: { readonly query: Query<unknown>; readonly children: ReactNode }): ReactNode {
  const { query, children } = props;
  if (query.data !== undefined || !query.error) return children;
  return <ErrorState problem={query.error} onRetry={() => void query.refetch()} />;
}

export interface LoadedProps<Data> {
  readonly query: Query<Data>;
  /** As large as the content. */
  readonly skeleton: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/**
 * Loading, failed or loaded. A loaded response stays when a refetch fails: the banner of the shell
 * reports the lost connection.
 */
export function Loaded<Data>({ query, skeleton, children }: LoadedProps<Data>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  return (
    <UnlessFailed query={query}>
      <Loading>{skeleton}</Loading>
    </UnlessFailed>
  );
}
