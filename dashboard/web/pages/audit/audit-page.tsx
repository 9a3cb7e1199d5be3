import type { ReactNode } from 'react';
import { useAskPages } from '../../api/use-ask-pages.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { AuditPages } from './audit-pages.tsx';

export function AuditPage(): ReactNode {
  const { id: organization } = useOrganization();
  const pages = useAskPages('GET /api/organizations/:organization/audit', { params: { organization } }, 'before');
  return (
    <>
      <PageHeader title="Audit log" description="Who changed what in this organization, when, and from where." />
      <AuditPages pages={pages} />
    </>
  );
}
