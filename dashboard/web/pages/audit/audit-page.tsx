import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function AuditPage(): ReactNode {
  return <PageHeader title="Audit log" />;
}
