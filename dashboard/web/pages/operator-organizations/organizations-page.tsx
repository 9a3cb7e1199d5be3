import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function OrganizationsPage(): ReactNode {
  return <PageHeader title="Organizations" />;
}
