import type { ReactNode } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { PageHeader } from '../components/page-header.tsx';

export function NoOrganization(): ReactNode {
  return (
    <>
      <PageHeader title="Welcome" />
      <EmptyState icon="organizations" title="You belong to no organization yet">
        Ask an owner of your organization to add you; this page then shows it.
      </EmptyState>
    </>
  );
}
