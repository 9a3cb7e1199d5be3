import { type ReactNode, useMemo, useState } from 'react';
import type { ModelView } from '#contract/money.ts';
import type { OrganizationView } from '#contract/organization.ts';
import { useAsk } from '../../api/queries.ts';
import { Card, PageHeader, Skeleton, Stat, StatRow, UnlessFailed } from '../../components/panels.tsx';
import { Count, Money, Muted } from '../../components/values.tsx';
import { formatCount } from '../../format/format.ts';
import { BalanceBanner, BalanceEnd, TopUpButton } from '../../organizations/balance-banner.tsx';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { LoadMore } from '../../table/list-page.tsx';
import { type Column, figureColumn, Table } from '../../table/table.tsx';
import { creditsSearch } from '../searches.ts';
import { type AffordableOutput, SMALL_INPUT_TOKENS, shortenedOutputs } from './affordable-outputs.ts';
import { Ledger } from './ledger.tsx';
import { Payments } from './payments.tsx';

const REFRESH_MS = 15_000;

export function CreditsPage(): ReactNode {
  return (
    <>
      <PageHeader
        title="Credits"
        help="api.html#limits-and-holds"
        description="What was paid in, and what every request cost."
        actions={<TopUpButton tone="primary" />}
      />
      <Credits />
    </>
  );
}

function Credits(): ReactNode {
  const { role } = useOrganization();
  const url = useUrl(creditsSearch);
  const organization = useAsk('GET /api/organizations/:organization', {}, { refreshMs: REFRESH_MS });
  const balance = organization.data && BigInt(organization.data.balanceNanoUsd);
  const models = useAsk('GET /api/organizations/:organization/models');
  const isOwner = role !== 'member';
  const payments = useAsk('GET /api/organizations/:organization/top-ups', {}, { enabled: isOwner });
  // Waits for everything, because parts that arrive later would push the ledger down.
  if (organization.isPending || models.isPending || (isOwner && payments.isPending)) {
    return (
      <>
        <CreditStats organization={undefined} />
        <Skeleton height="1200px" />
      </>
    );
  }
  return (
    <UnlessFailed query={organization}>
      {organization.data && <BalanceBanner organization={organization.data} />}
      <CreditStats organization={organization.data} />
      {isOwner && <Payments url={url} balanceNanoUsd={balance} />}
      {organization.data && models.data && models.data.models.length > 0 && (
        <AffordableCard organization={organization.data} models={models.data.models} />
      )}
      <Ledger url={url} />
    </UnlessFailed>
  );
}

function CreditStats({ organization }: { readonly organization: OrganizationView | undefined }): ReactNode {
  return (
    <StatRow>
      <Stat
        label="Available"
        value={organization && <Money nanoUsd={availableNanoUsd(organization).toString()} />}
        note={organization && <BalanceEnd organization={organization} otherwise="For new requests" />}
      />
      <MoneyStat label="Balance" nanoUsd={organization?.balanceNanoUsd} note="Credited minus used" />
      <MoneyStat label="Held" nanoUsd={organization?.heldNanoUsd} note="For requests and undecided charges" />
      <MoneyStat label="Credited" nanoUsd={organization?.totalCreditsNanoUsd} note="In total" />
      <MoneyStat label="Used" nanoUsd={organization?.totalUsageNanoUsd} note="In total" />
    </StatRow>
  );
}

interface MoneyStatProps {
  readonly label: string;
  readonly nanoUsd: string | undefined;
  readonly note: string;
}

function MoneyStat({ nanoUsd, ...stat }: MoneyStatProps): ReactNode {
  return <Stat {...stat} value={nanoUsd && <Money nanoUsd={nanoUsd} />} />;
}

const FIRST_ROWS = 5;

interface AffordableCardProps {
  readonly organization: OrganizationView;
  readonly models: readonly ModelView[];
}

/** Shows what the available amount covers, before a request is refused with 402. */
function AffordableCard({ organization, models }: AffordableCardProps): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const available = availableNanoUsd(organization);
  const { maxTokens } = organization.limits;
  const outputs = useMemo(() => shortenedOutputs(models, available, maxTokens), [models, available, maxTokens]);
  const rows = showsAll ? outputs : outputs.slice(0, FIRST_ROWS);
  if (outputs.length === 0) return null;
  return (
    <Card title="What the balance pays for">
      <p className="muted small prose">
        The most that a request can cost is held while it runs: its input at the highest input price, and the whole
        output limit. With {formatCount(SMALL_INPUT_TOKENS)} input tokens, the balance covers these output limits:
      </p>
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
        A higher limit is refused with <code>insufficient_credits</code>, and{' '}
        <code>metadata.affordable_output_tokens</code> says which would fit. Without a limit, a request gets one that
        the balance covers.
      </p>
    </Card>
  );
}

const COLUMNS: readonly Column<AffordableOutput>[] = [
  { header: 'Model', cell: ({ model }) => <code>{model}</code> },
  figureColumn('Largest output limit', ({ outputTokens }) =>
    outputTokens === 0 ? <Muted>None</Muted> : formatCount(outputTokens),
  ),
  figureColumn('Model allows', ({ mostOutputTokens }) => <Count value={mostOutputTokens} />),
  figureColumn('That would need', ({ neededNanoUsd }) => <Money nanoUsd={neededNanoUsd} />),
];
