import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { TopUpOffer, TopUpView } from '#contract/top-ups.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { Button, NewTab } from '../../components/button.tsx';
import { Banner, Card, EmptyState } from '../../components/panels.tsx';
import { useFailureToast } from '../../components/toast.tsx';
import { Instant, Money, StatusPill } from '../../components/values.tsx';
import { formatCount, formatMoneyInFull } from '../../format/format.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { NumberField } from '../../forms/inputs.tsx';
import type { Url } from '../../search/use-url.ts';
import { type Column, figureColumn, Table } from '../../table/table.tsx';
import type { CreditsState } from '../searches.ts';
import { AutomaticTopUp } from './automatic-top-up.tsx';
import { leaveFor } from './leave-for.ts';
import { isMoving, paymentsMark, topUpNews, topUpState } from './top-up-state.ts';

const REFRESH_MS = 15_000;
/** Interval while a user who has paid watches the balance. */
const FOLLOW_MS = 1_000;
/** Bound of that, because a payment that was abandoned at Stripe stays open for a day. */
const FOLLOW_FOR_MS = 10 * 60_000;

interface PaymentsProps {
  readonly url: Url<CreditsState>;
  /** Absent while unknown. */
  readonly balanceNanoUsd: bigint | undefined;
}

const OF_BALANCE = ['GET /api/organizations/:organization', 'GET /api/organizations/:organization/ledger'];

/** Payments of an organization, for its owners. Shows nothing if payments are not configured. */
export function Payments({ url: { search, change }, balanceNanoUsd }: PaymentsProps): ReactNode {
  const client = useQueryClient();
  const { data } = useTopUps(search, balanceNanoUsd);
  const followed = data?.topUps.find(({ id }) => id === search.topUp);
  const mark = data && paymentsMark(data.topUps);
  const seen = useRef(mark);
  useEffect(() => {
    const isNews = seen.current !== undefined && mark !== seen.current;
    for (const endpoint of isNews ? OF_BALANCE : []) void client.invalidateQueries({ queryKey: [endpoint] });
    seen.current = mark;
  }, [mark, client]);
  if (data === undefined || (data.offer === undefined && data.topUps.length === 0)) return null;
  const news = followed && topUpNews(followed);
  return (
    <>
      {news && (
        <Banner
          tone={news.tone}
          title={news.title}
          action={followed.state === 'open' && <CheckButton topUp={followed.id} />}
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
            <Button tone="primary" icon="plus" onClick={() => change({ dialog: 'top-up' }, 'step')}>
              Add credit
            </Button>
          )
        }
      >
        <Table
          caption="Payments"
          columns={COLUMNS}
          rows={data.topUps}
          empty={
            <EmptyState icon="credits" title="No payments yet">
              Card payments and receipts appear here.
            </EmptyState>
          }
        />
        {data.next !== undefined && <p className="muted">Find older payments in the ledger below, under Credits.</p>}
      </Card>
      {data.offer && <AutomaticTopUp payments={{ ...data, offer: data.offer }} hasSaved={search.card === 'saved'} />}
      {search.dialog === 'top-up' && data.offer && (
        <TopUpDialog offer={data.offer} onClose={() => change({ dialog: undefined })} />
      )}
    </>
  );
}

/** Makes the server read the payment: Stripe's event may be late or never arrive. */
function CheckButton({ topUp }: { readonly topUp: string }): ReactNode {
  const check = useSend('POST /api/organizations/:organization/top-ups/:topUp/check');
  return (
    <Button busy={check.isPending} onClick={() => check.mutate({ params: { topUp } })}>
      Check now
    </Button>
  );
}

/** Refetches frequently while a payment is in progress, so that the balance updates by itself. */
function useTopUps(search: CreditsState, balanceNanoUsd: bigint | undefined) {
  const [follows, setFollows] = useState(false);
  const refreshMs = follows ? FOLLOW_MS : REFRESH_MS;
  const query = useAsk('GET /api/organizations/:organization/top-ups', {}, { refreshMs });
  const { data } = query;
  const awaitsCard = search.card === 'saved' && data?.card === undefined;
  const moving = data !== undefined && (awaitsCard || isMoving(data, balanceNanoUsd));
  useEffect(() => {
    setFollows(moving);
    const timer = setTimeout(() => setFollows(false), FOLLOW_FOR_MS);
    return () => clearTimeout(timer);
  }, [moving]);
  return query;
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
  figureColumn('Amount', ({ amountNanoUsd }) => formatMoneyInFull(amountNanoUsd)),
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
      Receipt <NewTab />
    </a>
  );
}

/** Fetches the invoice's URL when it is needed, because Stripe changes it from time to time. */
function InvoiceButton({ topUp }: { readonly topUp: string }): ReactNode {
  const open = useSend('POST /api/organizations/:organization/top-ups/:topUp/invoice', {
    changesNothing: true,
    onDone: ({ url }) => leaveFor(url),
    onFailed: useFailureToast(),
  });
  return (
    <Button size="small" busy={open.isPending} onClick={() => open.mutate({ params: { topUp } })}>
      Invoice
    </Button>
  );
}

interface TopUpDialogProps {
  readonly offer: TopUpOffer;
  readonly onClose: () => void;
}

function TopUpDialog({ offer, onClose }: TopUpDialogProps): ReactNode {
  const { presetsUsd, leastUsd, mostUsd } = offer;
  const [amountUsd, setAmount] = useState(presetsUsd[0]);
  const begin = useSend('POST /api/organizations/:organization/top-ups', {
    onDone: ({ url }) => leaveFor(url),
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
        if (amountUsd !== undefined) begin.mutate({ body: { amountUsd } });
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
