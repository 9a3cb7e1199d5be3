import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function OperatorAuditPage(): ReactNode {
  return <PageHeader title="Audit log of all organizations" />;
}
