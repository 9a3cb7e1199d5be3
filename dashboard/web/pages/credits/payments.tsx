import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { useSend } from '../../api/use-send.ts';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { Money } from '../../components/figures.tsx';
import { AutomaticTopUp } from './automatic-top-up.tsx';
import type { PaymentsUrlState } from './ledger-url.ts';
import { TopUpDialog } from './top-up-dialog.tsx';
import { isMoving, paymentsMark, topUpNews } from './top-up-state.ts';
import { TopUpsTable } from './top-ups-table.tsx';

const REFRESH_MS = 15_000;
/** Somebody has paid, and looks at the balance. */
const FOLLOW_MS = 1_000;
/** A payment that was left at Stripe stays open for a day. */
const FOLLOW_FOR_MS = 10 * 60_000;

export interface PaymentsProps {
  readonly organization: string;
  readonly url: PaymentsUrlState;
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
              <Money nanoUsd={followed.amountNanoUsd} /> were added to the balance.
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
function useTopUps(organization: string, url: PaymentsUrlState, balanceNanoUsd: bigint | undefined) {
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
