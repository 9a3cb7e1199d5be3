import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import type { LedgerEntryView, ModelView } from '#contract/money.ts';
import type { OrganizationView } from '#contract/organization.ts';
import { useAsk, useAskPages } from '../../api/queries.ts';
import { Card, EmptyState, PageHeader, Skeleton, Stat, StatRow, UnlessFailed } from '../../components/panels.tsx';
import { Count, Instant, Money, StatusPill } from '../../components/values.tsx';
import { formatCount, formatMoneyInFull } from '../../format/format.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { BalanceBanner, TopUpButton } from '../../organizations/balance-banner.tsx';
import { BalanceEnd } from '../../organizations/balance-end.tsx';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
import { boundsOf } from '../../search/days.ts';
import { TimeFilter } from '../../search/filters.tsx';
import { type Url, useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { CsvLink, List, LoadMore } from '../../table/list-page.tsx';
import { type Column, Table } from '../../table/table.tsx';
import { type CreditsState, creditsSearch } from '../searches.ts';
import { type AffordableOutput, SMALL_INPUT_TOKENS, shortenedOutputs } from './affordable-outputs.ts';
import { entryTitle, signedAmount } from './ledger-entry.ts';
import { Payments, type PaymentsProps } from './payments.tsx';

const REFRESH_MS = 15_000;

export function CreditsPage(): ReactNode {
  const { id } = useOrganization();
  return (
    <>
      <PageHeader
        title="Credits"
        description="All credits, and the cost of every request."
        actions={<TopUpButton tone="primary" />}
      />
      {/* The key remounts for another organization, so that figures of the former one are never
          shown. */}
      <CreditsOf key={id} id={id} />
    </>
  );
}

function CreditsOf({ id }: { readonly id: string }): ReactNode {
  const { role } = useOrganization();
  const url = useUrl(creditsSearch);
  const { search, change } = url;
  const params = { organization: id };
  const organization = useAsk('GET /api/organizations/:organization', { params }, { refreshMs: REFRESH_MS });
  const balance = organization.data && BigInt(organization.data.balanceNanoUsd);
  const models = useAsk('GET /api/organizations/:organization/models', { params });
  const isOwner = role !== 'member';
  const payments = useAsk('GET /api/organizations/:organization/top-ups', { params }, { enabled: isOwner });
  // All of it arrives at once: what came later would push the ledger down.
  if (organization.isPending || models.isPending || (isOwner && payments.isPending)) return <CreditsSkeleton />;
  return (
    <UnlessFailed query={organization}>
      {organization.data && <BalanceBanner organization={organization.data} />}
      <CreditStats organization={organization.data} />
      {isOwner && (
        <PaymentsOf
          organization={id}
          url={search}
          balanceNanoUsd={balance}
          onDialog={(open) => change({ dialog: open ? 'top-up' : undefined }, open ? 'step' : undefined)}
        />
      )}
      {organization.data && models.data && models.data.models.length > 0 && (
        <AffordableCard organization={organization.data} models={models.data.models} />
      )}
      <Ledger id={id} url={url} />
    </UnlessFailed>
  );
}

interface LedgerProps {
  readonly id: string;
  readonly url: Url<CreditsState>;
}

function Ledger({ id, url }: LedgerProps): ReactNode {
  const { search, change } = url;
  const { kind } = search;
  const query = useLedgerQuery(search);
  // A refetch loads all pages, so only a single page is refreshed.
  const [isLong, setLong] = useState(false);
  const pages = useAskPages(
    'GET /api/organizations/:organization/ledger',
    { params: { organization: id }, query },
    'before',
    isLong ? {} : { refreshMs: REFRESH_MS },
  );
  const entries = useMemo(() => pages.data?.pages.flatMap((page) => page.entries), [pages.data]);
  const columns = useMemo(() => ledgerColumns(id), [id]);
  return (
    <>
      <FilterBar url={url} actions={<CsvLink organization={id} table="ledger" query={query} />}>
        <SegmentedControl
          label="Kind"
          value={kind ?? 'all'}
          onChange={(next) => change({ kind: next === 'all' ? undefined : next })}
          choices={{ all: 'All', credit: 'Credits', charge: 'Charges' }}
        />
        <TimeFilter value={search} onChange={change} />
      </FilterBar>
      <List
        query={pages}
        nouns={['entry', 'entries']}
        onMore={() => setLong(true)}
        caption="Ledger"
        columns={columns}
        rows={entries}
        rowKey={({ sequence }) => String(sequence)}
        skeletonRows={12}
        empty={
          url.isFiltered ? (
            <EmptyState icon="credits" title="No matching entries">
              Choose another time or kind.
            </EmptyState>
          ) : (
            <EmptyState icon="credits" title="No entries yet">
              Credits appear here when they are paid in, charges a moment after each request.
            </EmptyState>
          )
        }
      />
    </>
  );
}

function CreditsSkeleton(): ReactNode {
  return (
    <>
      <CreditStats organization={undefined} />
      <Skeleton height="1200px" />
    </>
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
function useLedgerQuery({ kind, range, from, to }: CreditsState) {
  const [nowMs] = useState(() => Date.now());
  return useMemo(() => ({ kind, ...boundsOf({ range, from, to }, nowMs) }), [kind, range, from, to, nowMs]);
}

function CreditStats({ organization }: { readonly organization: OrganizationView | undefined }): ReactNode {
  return (
    <StatRow>
      <Stat
        label="Available"
        value={organization && <Money nanoUsd={availableNanoUsd(organization).toString()} />}
        note={organization && <BalanceEnd organization={organization} otherwise="For new requests" />}
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

const TONES = { Charge: 'neutral', Credit: 'good', Correction: 'warn' } as const;

function ledgerColumns(organization: string): readonly Column<LedgerEntryView>[] {
  return [
    { header: 'Time', cell: ({ atMs }) => <Instant atMs={atMs} />, width: '190px' },
    {
      header: 'Kind',
      cell: (entry) => <StatusPill tone={TONES[entryTitle(entry)]}>{entryTitle(entry)}</StatusPill>,
      width: '120px',
    },
    { header: 'About', cell: (entry) => <About organization={organization} entry={entry} /> },
    { header: 'Amount', numeric: true, cell: (entry) => <Amount entry={entry} /> },
    {
      header: 'Balance after',
      numeric: true,
      cell: ({ balanceNanoUsd }) => formatMoneyInFull(balanceNanoUsd),
    },
  ];
}

function Amount({ entry }: { readonly entry: LedgerEntryView }): ReactNode {
  return (
    <span className={BigInt(entry.amountNanoUsd) > 0n ? 'good' : undefined}>{signedAmount(entry.amountNanoUsd)}</span>
  );
}

/** For a charge the request, for a credit its note and actor. */
function About({ organization, entry }: { readonly organization: string; readonly entry: LedgerEntryView }): ReactNode {
  const { generationId, model, keyName, note, reference, actor } = entry;
  if (generationId !== undefined) {
    return (
      <span className="stack">
        <span className="clip">{[model, keyName].filter((part) => part !== undefined).join(' · ')}</span>
        <Link
          to="/o/$organization/requests"
          params={{ organization }}
          search={{ search: generationId }}
          className="muted small"
        >
          <code>{generationId}</code>
        </Link>
      </span>
    );
  }
  return (
    <span className="stack">
      <span>{note ?? 'No note'}</span>
      <span className="muted small">
        {reference !== undefined && <>Reference {reference} · </>}
        by {actor}
      </span>
    </span>
  );
}

const FIRST_ROWS = 5;

interface AffordableCardProps {
  readonly organization: OrganizationView;
  readonly models: readonly ModelView[];
}

/** Says before a request is refused with 402 what the available amount pays for. */
function AffordableCard({ organization, models }: AffordableCardProps): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const available = availableNanoUsd(organization);
  const { maxTokens } = organization.limits;
  const outputs = useMemo(() => shortenedOutputs(models, available, maxTokens), [models, available, maxTokens]);
  const rows = showsAll ? outputs : outputs.slice(0, FIRST_ROWS);
  return (
    <Card title="What the balance pays for">
      <p className="muted small prose">
        A request is admitted if the available amount covers the most that it can cost: its input at the highest price
        for input, and the whole output limit. A request of {formatCount(SMALL_INPUT_TOKENS)} input tokens may have{' '}
        {outputs.length === 0 ? 'the longest output of every model.' : 'these output limits:'}
      </p>
      {outputs.length > 0 && (
        <>
          <Table
            caption="Output limits that the balance pays for"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ model }) => model}
            empty={null}
          />
          {rows.length < outputs.length && (
            <LoadMore onLoad={() => setShowsAll(true)} label="Show all">
              {formatCount(rows.length)} of {formatCount(outputs.length)} models
            </LoadMore>
          )}
          <p className="muted small prose">
            A larger limit is refused with <code>insufficient_credits</code>. Its{' '}
            <code>metadata.affordable_output_tokens</code> is the limit for that very request. A request without a limit
            gets one that the balance pays for, if that is long enough to be useful. Where the tokenizer of a model is
            unknown, each byte of the input counts as a token.
          </p>
        </>
      )}
    </Card>
  );
}

const COLUMNS: readonly Column<AffordableOutput>[] = [
  { header: 'Model', cell: ({ model }) => <code>{model}</code> },
  {
    header: 'Largest output limit',
    numeric: true,
    cell: ({ outputTokens }) => (outputTokens === 0 ? <span className="muted">None</span> : formatCount(outputTokens)),
  },
  {
    header: 'Model allows',
    numeric: true,
    cell: ({ mostOutputTokens }) => <Count value={mostOutputTokens} />,
  },
  {
    header: 'That would need',
    numeric: true,
    cell: ({ neededNanoUsd }) => <Money nanoUsd={neededNanoUsd} />,
  },
];
