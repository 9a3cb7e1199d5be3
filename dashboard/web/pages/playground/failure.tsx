import type { ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { Banner } from '../../components/banner.tsx';
import { AboutError } from '../../errors/about-error.tsx';
import { formatMoney } from '../../format/format-money.ts';
import { formatCount } from '../../format/format-number.ts';
import { PayButton, useMayPay } from '../../organizations/balance-banner.tsx';
import type { PlayFailure } from './play.ts';
import type { PlayResponse } from './play-response.ts';
import styles from './playground.module.css';

/** Why a response is not complete, and what to do. */
export function Failure({ response }: { readonly response: PlayResponse }): ReactNode {
  const { state, failure, problem } = response;
  if (problem !== undefined) return <Banner tone="bad">{problem.message}</Banner>;
  if (state === 'cut') {
    return (
      <Banner tone="bad" title="The stream was cut off">
        The playground passes on at most 5 minutes and 8 MiB. Otherwise the connection broke. What had been delivered is
        charged.
      </Banner>
    );
  }
  return failure === undefined ? null : <GatewayFailure failure={failure} />;
}

function GatewayFailure({ failure }: { readonly failure: PlayFailure }): ReactNode {
  const { status, code, message } = failure;
  return (
    <div className={styles.failure}>
      <Banner
        tone="bad"
        title={[status, code].filter(Boolean).join(' ')}
        action={code === SHORT && <PayButton beside />}
      >
        {message}
      </Banner>
      <KeyNote failure={failure} />
      {code !== undefined && <AboutError code={code} />}
    </div>
  );
}

const SHORT = 'insufficient_credits';

/** Facts that hold for the playground only. */
function KeyNote({ failure: { code, metadata } }: { readonly failure: PlayFailure }): ReactNode {
  const { playground, takesPayments = false } = useSession();
  const mayPay = useMayPay();
  const { affordable_output_tokens: affordable } = metadata;
  if (code === SHORT) {
    return (
      <>
        {takesPayments && !mayPay && <p>An owner of the organization can add credit.</p>}
        {typeof affordable === 'number' && affordable > 0 && (
          <p>With an output limit of {formatCount(affordable)} tokens this request would be admitted now.</p>
        )}
      </>
    );
  }
  if (code !== 'daily_budget_exceeded' || playground === undefined) return null;
  return (
    <p>
      The playground’s key may spend {formatMoney(playground.budgetNanoUsd)} within its {playground.keyMinutes} minutes,
      or the daily budget of the chosen key. A smaller output limit needs less.
    </p>
  );
}
