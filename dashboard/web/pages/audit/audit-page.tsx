import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAskPages } from '../../api/use-ask.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { AuditFilters, useAuditFilter } from './audit-filters.tsx';
import { AuditPages } from './audit-pages.tsx';
import type { AuditUrlState } from './audit-url.ts';

export function AuditPage(): ReactNode {
  const { id: organization } = useOrganization();
  const search = useSearch({ from: '/app/o/$organization/audit' });
  const navigate = useNavigate({ from: '/o/$organization/audit' });
  const query = useAuditFilter(search);
  const pages = useAskPages(
    'GET /api/organizations/:organization/audit',
    { params: { organization }, query },
    'before',
    { keepPrevious: true },
  );
  const onSearch = (next: AuditUrlState) => void navigate({ search: next, replace: true });
  return (
    <>
      <PageHeader title="Audit log" description="Who changed what in this organization, when, and from where." />
      <AuditFilters search={search} onSearch={onSearch} onClear={() => onSearch({})} />
      <AuditPages pages={pages} isFiltered={Object.keys(query).length > 0} />
    </>
  );
}
