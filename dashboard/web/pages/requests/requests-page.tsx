import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function RequestsPage(): ReactNode {
  return <PageHeader title="Requests" />;
}
