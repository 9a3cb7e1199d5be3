import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ApiProblem } from '../api/problem.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorState } from '../components/error-state.tsx';

/** Instead of a page that threw: a bug, a part of the page that a new release took away, or no server behind the first question. */
export function PageFailed({ error, reset }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  useEffect(() => console.error(error), [error]);
  const again = () => {
    reset();
    void router.invalidate();
  };
  if (error instanceof ApiProblem) return <ErrorState problem={error} onRetry={again} />;
  return (
    <div role="alert">
      <EmptyState
        icon="errors"
        title="This page could not be shown"
        action={
          <Button icon="refresh" onClick={() => location.reload()}>
            Load the page anew
          </Button>
        }
      >
        Something in the dashboard went wrong. A newer version of it may have been installed since you opened it.
      </EmptyState>
    </div>
  );
}
