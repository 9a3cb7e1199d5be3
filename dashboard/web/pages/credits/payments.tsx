import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { TopUpOffer, TopUpView } from '#contract/top-ups.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Banner, Card, EmptyState } from '../../components/panels.tsx';
import { useToast } from '../../components/toast.tsx';
import { Instant, Money, StatusPill } from '../../components/values.tsx';
import { formatCount, formatMoneyInFull } from '../../format/format.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { NumberField } from '../../forms/inputs.tsx';
import { useOrganization } from '../../shell/use-organization.tsx';
import { type Column, Table } from '../../table/table.tsx';
import type { CreditsState } from '../searches.ts';
import { AutomaticTopUp } from './automatic-top-up.tsx';
import { isMoving, paymentsMark, topUpNews, topUpState } from './top-up-state.ts';

const REFRESH_MS = 15_000;
/** Somebody has paid, and looks at the balance. */
const FOLLOW_MS = 1_000;
/** A payment that was left at Stripe stays open for a day. */
const FOLLOW_FOR_MS = 10 * 60_000;

export interface PaymentsProps {
  readonly organization: string;
  readonly url: CreditsState;
  readonly onDialog: (open: boolean) => void;
  /** Absent while unknown. */
  readonly balanceNanoUsd: bigint | undefined;
  /** A payment was begun, made or given back. */
  readonly onNews: () => void;
}

/** Payments of an organization, for its owners. Shows nothing where none are configured. */
export function Payments({ organization, url, balanceNanoUsd, onDialog, onNews }: PaymentsProps): ReactNode {
  const { data } = useTopUps(organization, url, balanceNanoUsd);
  const followed = data?.topUps.find(({ id }) => id === url.topUp);
  const mark = data && paymentsMark(data.topUps);
  const seen = useRef(mark);
  // biome-ignore lint/correctness/useExhaustiveDependencies: reported once for each change.
  useEffect(() => {
    if (seen.current !== undefined && mark !== seen.current) onNews();
    seen.current = mark;
  }, [mark]);
  if (data === undefined || (data.offer === undefined && data.topUps.length === 0)) return null;
  const news = followed && topUpNews(followed);
  return (
    <>
      {news && (
        <Banner
          tone={news.tone}
          title={news.title}
          action={followed.state === 'open' && <CheckButton organization={organization} topUp={followed.id} />}
        >
          {followed.state === 'paid' ? (
            <>
              <Money nanoUsd={followed.amountNanoUsd} /> was added to the balance.
            </>
          ) : (
            news.text
          )}
        </Banner>
      )}
      <Card
        title="Payments"
        actions={
          data.offer && (
            <Button tone="primary" icon="plus" onClick={() => onDialog(true)}>
              Add credit
            </Button>
          )
        }
      >
        <TopUpsTable topUps={data.topUps} hasOlder={data.next !== undefined} />
      </Card>
      {data.offer && (
        <AutomaticTopUp
          organization={organization}
          payments={{ ...data, offer: data.offer }}
          hasSaved={url.card === 'saved'}
        />
      )}
      {url.dialog === 'top-up' && data.offer && (
        <TopUpDialog organization={organization} offer={data.offer} onClose={() => onDialog(false)} />
      )}
    </>
  );
}

/** Has the payment read from Stripe: the event about it may be late, or never arrive. */
function CheckButton({ organization, topUp }: { readonly organization: string; readonly topUp: string }): ReactNode {
  const check = useSend('POST /api/organizations/:organization/top-ups/:topUp/check', {
    changes: ['GET /api/organizations/:organization/top-ups'],
  });
  return (
    <Button busy={check.isPending} onClick={() => check.mutate({ params: { organization, topUp } })}>
      Check now
    </Button>
  );
}

/** Asks again soon while a payment is in progress, so that the balance moves by itself. */
function useTopUps(organization: string, url: CreditsState, balanceNanoUsd: bigint | undefined) {
  const [follows, setFollows] = useState(false);
  const query = useAsk(
    'GET /api/organizations/:organization/top-ups',
    { params: { organization } },
    { refreshMs: follows ? FOLLOW_MS : REFRESH_MS },
  );
  const { data } = query;
  const awaitsCard = url.card === 'saved' && data?.card === undefined;
  const moving = data !== undefined && (awaitsCard || isMoving(data, balanceNanoUsd));
  useEffect(() => {
    setFollows(moving);
    const timer = setTimeout(() => setFollows(false), FOLLOW_FOR_MS);
    return () => clearTimeout(timer);
  }, [moving]);
  return query;
}

interface TopUpsTableProps {
  readonly topUps: readonly TopUpView[];
  readonly hasOlder: boolean;
}

function TopUpsTable({ topUps, hasOlder }: TopUpsTableProps): ReactNode {
  return (
    <>
      <Table
        caption="Payments"
        columns={COLUMNS}
        rows={topUps}
        empty={
          <EmptyState icon="credits" title="No payments yet">
            Card payments and receipts appear here.
          </EmptyState>
        }
      />
      {hasOlder && <p className="muted">Find older payments in the ledger below, under Credits.</p>}
    </>
  );
}

const COLUMNS: readonly Column<TopUpView>[] = [
  { header: 'Time', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, width: '190px' },
  { header: 'State', cell: (topUp) => <State topUp={topUp} /> },
  {
    header: 'By',
    cell: ({ automatic, createdBy }) => (automatic ? 'Automatic top-up' : createdBy),
    hideBelow: 'medium',
  },
  {
    header: 'Receipt',
    cell: (topUp) => (
      <div className="row">
        <Receipt topUp={topUp} />
        {topUp.hasInvoice && <InvoiceButton topUp={topUp.id} />}
      </div>
    ),
  },
  { header: 'Amount', numeric: true, cell: ({ amountNanoUsd }) => formatMoneyInFull(amountNanoUsd) },
];

function State({ topUp }: { readonly topUp: TopUpView }): ReactNode {
  const { tone, word } = topUpState(topUp);
  const isReturned = BigInt(topUp.returnedNanoUsd) > 0n;
  return (
    <div className="stack">
      <StatusPill tone={tone}>{word}</StatusPill>
      {isReturned && <span className="muted">{formatMoneyInFull(topUp.returnedNanoUsd)} returned</span>}
      {topUp.failure !== undefined && <span className="muted">{topUp.failure}</span>}
    </div>
  );
}

function Receipt({ topUp: { receiptUrl } }: { readonly topUp: TopUpView }): ReactNode {
  if (receiptUrl === undefined) return <span className="muted">None</span>;
  return (
    <a href={receiptUrl} target="_blank" rel="noreferrer">
      Receipt <Icon name="external" />
      <span className="visually-hidden">(opens in a new tab)</span>
    </a>
  );
}

/** Stripe changes the address of an invoice from time to time, so it is asked for. */
function InvoiceButton({ topUp }: { readonly topUp: string }): ReactNode {
  const { id: organization } = useOrganization();
  const toast = useToast();
  const open = useSend('POST /api/organizations/:organization/top-ups/:topUp/invoice', {
    changes: [],
    onDone: ({ url }) => window.location.assign(url),
  });
  return (
    <Button
      size="small"
      busy={open.isPending}
      onClick={() =>
        open.mutate(
          { params: { organization, topUp } },
          { onError: (problem) => toast({ tone: 'bad', text: problem.message }) },
        )
      }
    >
      Invoice
    </Button>
  );
}

interface TopUpDialogProps {
  readonly organization: string;
  readonly offer: TopUpOffer;
  readonly onClose: () => void;
}

/** Chooses an amount and goes to Stripe, which takes the payment. */
function TopUpDialog({ organization, offer, onClose }: TopUpDialogProps): ReactNode {
  const { presetsUsd, leastUsd, mostUsd } = offer;
  const [amountUsd, setAmount] = useState(presetsUsd[0]);
  const begin = useSend('POST /api/organizations/:organization/top-ups', {
    changes: ['GET /api/organizations/:organization/top-ups'],
    onDone: ({ url }) => window.location.assign(url),
  });
  const choices = presetsUsd.map((preset) => ({ value: String(preset), label: `$${formatCount(preset)}` }));
  return (
    <FormDialog
      onClose={onClose}
      title="Add credit"
      description="You pay on Stripe and return here. The balance updates within seconds."
      submit="Continue to payment"
      sending={begin}
      onSubmit={() => {
        if (amountUsd !== undefined) begin.mutate({ params: { organization }, body: { amountUsd } });
      }}
    >
      <SegmentedControl
        label="Amount"
        value={String(amountUsd)}
        onChange={(value) => setAmount(Number(value))}
        choices={choices}
      />
      <NumberField
        label="Amount in USD"
        hint={`From $${formatCount(leastUsd)} to $${formatCount(mostUsd)}, without cents.`}
        error={begin.error?.fields?.amountUsd}
        required
        value={amountUsd}
        onChange={setAmount}
        min={leastUsd}
        max={mostUsd}
        suffix="USD"
      />
    </FormDialog>
  );
}
