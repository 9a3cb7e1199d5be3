import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAskPages } from '../../api/use-ask.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { OrganizationPicker } from '../../shell/organization-picker.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { AuditFilters, useAuditFilter } from './audit-filters.tsx';
import { AuditPages } from './audit-pages.tsx';
import type { AuditUrlState, OperatorAuditUrlState } from './audit-url.ts';

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

export function OperatorAuditPage(): ReactNode {
  const { organization, ...search } = useSearch({ from: '/app/operator/audit' });
  const navigate = useNavigate({ from: '/operator/audit' });
  const query = { organization, ...useAuditFilter(search) };
  const pages = useAskPages('GET /api/audit', { query }, 'before', { keepPrevious: true });
  const onSearch = (next: OperatorAuditUrlState) => void navigate({ search: next, replace: true });
  return (
    <>
      <PageHeader title="Audit log" description="Who changed what, in every organization and of the users." />
      <AuditFilters
        search={search}
        onSearch={(next) => onSearch({ organization, ...next })}
        onClear={() => onSearch({})}
        isMoreActive={organization !== undefined}
        more={
          <OrganizationPicker
            value={organization}
            onChange={(id) => onSearch({ ...search, organization: id })}
            placeholder="All organizations"
          />
        }
      />
      <AuditPages
        pages={pages}
        withOrganization
        isFiltered={Object.values(query).some((value) => value !== undefined)}
      />
    </>
  );
}
