import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ApiProblem } from '../api/api.ts';
import { checkConnection, onReturn, useConnectionLost } from '../api/connection.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { EmptyState, ErrorState, PageHeader } from '../components/panels.tsx';
import styles from './shell.module.css';

/** Replaces a page that threw an error: a bug, or code that a new release removed. */
export function PageFailed({ error }: Pick<ErrorComponentProps, 'error'>): ReactNode {
  const router = useRouter();
  const lost = useConnectionLost();
  const isProblem = error instanceof ApiProblem;
  useEffect(() => {
    if (isProblem) return;
    console.error(error);
    // Code that could not be loaded is not loaded again automatically. A reload is safe, because
    // nothing was typed yet.
    void checkConnection();
    return onReturn(() => location.reload());
  }, [error, isProblem]);
  return (
    <>
      <PageHeader title="Something went wrong" />
      {isProblem ? (
        <ErrorState problem={error} onRetry={() => void router.invalidate()} />
      ) : (
        <div role="alert">
          <EmptyState
            icon="errors"
            title="This page could not be shown"
            action={
              // Without the server a reload would show the browser's own error page.
              !lost && (
                <Button icon="refresh" onClick={() => location.reload()}>
                  Reload the page
                </Button>
              )
            }
          >
            {lost
              ? 'It appears by itself when the server can be reached again.'
              : 'A newer version of the dashboard may have been installed since you opened it.'}
          </EmptyState>
        </div>
      )}
    </>
  );
}

/** Replaces everything if the session cannot be loaded. */
export function ShellFailed({ error }: Pick<ErrorComponentProps, 'error'>): ReactNode {
  return (
    <main className={styles.content}>
      <PageFailed error={error} />
    </main>
  );
}

export function PageNotFound(): ReactNode {
  return (
    <>
      <PageHeader title="Page not found" />
      <EmptyState
        icon="search"
        title="There is no page at this address"
        action={<LinkButton to="/">To the overview</LinkButton>}
      >
        Check the address, or choose a page from the navigation.
      </EmptyState>
    </>
  );
}

export function NoOrganization(): ReactNode {
  return (
    <>
      <PageHeader title="Welcome" />
      <EmptyState icon="organizations" title="You are not in an organization yet">
        Ask an owner to add you. The organization then appears here.
      </EmptyState>
    </>
  );
}
