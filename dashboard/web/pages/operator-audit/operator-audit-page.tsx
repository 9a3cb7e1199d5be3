import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAskPages } from '../../api/use-ask-pages.ts';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { OrganizationPicker } from '../../shell/organization-picker.tsx';
import { AuditPages } from '../audit/audit-pages.tsx';

export function OperatorAuditPage(): ReactNode {
  const { organization } = useSearch({ from: '/app/operator/audit' });
  const navigate = useNavigate({ from: '/operator/audit' });
  const pages = useAskPages('GET /api/audit', { query: { organization } }, 'before', { keepPrevious: true });
  const choose = (id: string | undefined) => void navigate({ search: { organization: id }, replace: true });
  return (
    <>
      <PageHeader title="Audit log" description="Who changed what, in every organization and of the users." />
      <FilterBar active={organization !== undefined} onClear={() => choose(undefined)}>
        <OrganizationPicker value={organization} onChange={choose} placeholder="All organizations" />
      </FilterBar>
      <AuditPages pages={pages} withOrganization />
    </>
  );
}
