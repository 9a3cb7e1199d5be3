import type { ReactNode } from 'react';
import type { ApiProblem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { EmptyState } from './empty-state.tsx';

const TITLES: Partial<Record<ApiProblem['problem'], string>> = {
  unreachable: 'The dashboard server cannot be reached',
  timed_out: 'The dashboard server did not answer in time',
  unavailable: 'This cannot be read right now',
  not_allowed: 'You have no access to this',
  not_found: 'Not found',
};

/** In place of what could not be loaded. */
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
          // Asking again does not give a right.
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
