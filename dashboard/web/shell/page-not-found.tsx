import type { ReactNode } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { LinkButton } from '../components/link-button.tsx';
import { PageHeader } from '../components/page-header.tsx';

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
