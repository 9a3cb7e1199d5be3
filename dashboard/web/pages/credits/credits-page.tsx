import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { useAsk, useAskPages } from '../../api/use-ask.ts';
import { Stat, StatRow } from '../../components/card.tsx';
import { Money } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { BalanceBanner, TopUpButton } from '../../organizations/balance-banner.tsx';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
import { TimeFilter } from '../../search/time-filter.tsx';
import { boundsOf } from '../../search/time-range.ts';
import { isFiltered } from '../../search/url-values.ts';
import { useOrganization } from '../../shell/use-organization.ts';
import { CsvLink } from '../../table/csv-link.tsx';
import { PagedList } from '../../table/load-more.tsx';
import { AffordableCard } from './affordable-card.tsx';
import { LedgerTable } from './ledger-table.tsx';
import type { LedgerUrlState, PaymentsUrlState } from './ledger-url.ts';
import { Payments, type PaymentsProps } from './payments.tsx';

const route = getRouteApi('/app/o/$organization/credits');
const REFRESH_MS = 15_000;

export function CreditsPage(): ReactNode {
  const { id, role } = useOrganization();
  const { topUp, card, dialog, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="Credits"
        description="All credits, and the cost of every request."
        actions={<TopUpButton tone="primary" />}
      />
      {/* The key remounts for another organization, so that figures of the former one are never
          shown. */}
      <CreditsOf
        key={id}
        id={id}
        search={search}
        payments={role === 'member' ? undefined : { topUp, card, dialog }}
        onDialog={(open) =>
          void navigate({ search: (now) => ({ ...now, dialog: open ? 'top-up' : undefined }), replace: !open })
        }
        onSearch={(next) => void navigate({ search: next, replace: true })}
      />
    </>
  );
}

interface CreditsOfProps {
  readonly id: string;
  readonly search: LedgerUrlState;
  readonly onSearch: (search: LedgerUrlState) => void;
  /** Absent for members, who pay nothing. */
  readonly payments: PaymentsUrlState | undefined;
  readonly onDialog: (open: boolean) => void;
}

function CreditsOf({ id, search, onSearch, payments, onDialog }: CreditsOfProps): ReactNode {
  const params = { organization: id };
  const organization = useAsk('GET /api/organizations/:organization', { params }, { refreshMs: REFRESH_MS });
  const balance = organization.data && BigInt(organization.data.balanceNanoUsd);
  const models = useAsk('GET /api/organizations/:organization/models', { params });
  const query = useLedgerQuery(search);
  // A refetch loads all pages, so only a single page is refreshed.
  const [isLong, setLong] = useState(false);
  const pages = useAskPages(
    'GET /api/organizations/:organization/ledger',
    { params, query },
    'before',
    isLong ? {} : { refreshMs: REFRESH_MS },
  );
  const entries = useMemo(() => pages.data?.pages.flatMap((page) => page.entries), [pages.data]);
  return (
    <UnlessFailed query={organization}>
      {organization.data && <BalanceBanner organization={organization.data} spentNanoUsd={undefined} />}
      <CreditStats organization={organization.data} />
      {payments && <PaymentsOf organization={id} url={payments} balanceNanoUsd={balance} onDialog={onDialog} />}
      {organization.data && models.data && models.data.models.length > 0 && (
        <AffordableCard organization={organization.data} models={models.data.models} />
      )}
      <LedgerFilters
        search={search}
        onSearch={onSearch}
        actions={<CsvLink organization={id} table="ledger" query={query} />}
      />
      <PagedList pages={pages} count={entries?.length} nouns={['entry', 'entries']} onLoad={() => setLong(true)}>
        <LedgerTable organization={id} entries={organization.data && entries} filtered={isFiltered(search)} />
      </PagedList>
    </UnlessFailed>
  );
}

/** The balance is asked for again with each news of a payment. */
function PaymentsOf(props: Omit<PaymentsProps, 'onNews'>): ReactNode {
  const client = useQueryClient();
  const onNews = () => {
    for (const endpoint of ['GET /api/organizations/:organization', 'GET /api/organizations/:organization/ledger'])
      void client.invalidateQueries({ queryKey: [endpoint] });
  };
  return <Payments {...props} onNews={onNews} />;
}

/** Fixes the present moment when a span is chosen. Otherwise each render would be a new query. */
function useLedgerQuery(search: LedgerUrlState) {
  const [nowMs] = useState(() => Date.now());
  return useMemo(() => ({ kind: search.kind, ...boundsOf(search, nowMs) }), [search, nowMs]);
}

function CreditStats({ organization }: { readonly organization: OrganizationView | undefined }): ReactNode {
  return (
    <StatRow>
      <Stat
        label="Available"
        value={organization && <Money nanoUsd={availableNanoUsd(organization).toString()} />}
        note="For new requests"
      />
      <Stat
        label="Balance"
        value={organization && <Money nanoUsd={organization.balanceNanoUsd} />}
        note="Credited less used"
      />
      <Stat
        label="Held"
        value={organization && <Money nanoUsd={organization.heldNanoUsd} />}
        note="At most what requests in flight will cost"
      />
      <Stat
        label="Credited"
        value={organization && <Money nanoUsd={organization.totalCreditsNanoUsd} />}
        note="In total"
      />
      <Stat label="Used" value={organization && <Money nanoUsd={organization.totalUsageNanoUsd} />} note="In total" />
    </StatRow>
  );
}

export interface LedgerFiltersProps {
  readonly search: LedgerUrlState;
  readonly onSearch: (search: LedgerUrlState) => void;
  readonly actions: ReactNode;
}

const KIND_CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'credit', label: 'Credits' },
  { value: 'charge', label: 'Charges' },
] as const;

export function LedgerFilters({ search, onSearch, actions }: LedgerFiltersProps): ReactNode {
  const { kind, ...times } = search;
  return (
    <FilterBar active={isFiltered(search)} onClear={() => onSearch({})} actions={actions}>
      <SegmentedControl
        label="Kind"
        value={kind ?? 'all'}
        onChange={(next) => onSearch(next === 'all' ? times : { ...times, kind: next })}
        choices={KIND_CHOICES}
      />
      <TimeFilter times={times} onTimes={(next) => onSearch({ ...(kind && { kind }), ...next })} />
    </FilterBar>
  );
}
