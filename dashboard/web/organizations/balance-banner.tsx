import type { ReactNode } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { serverMs } from '../api/server-clock.ts';
import { useSession } from '../api/session.ts';
import { ButtonAnchor, LinkButton, NewTab } from '../components/button.tsx';
import { Banner } from '../components/panels.tsx';
import { Instant, Money } from '../components/values.tsx';
import { formatDate } from '../format/format.ts';
import { useOrganization } from '../shell/use-organization.tsx';
import { balanceWarning } from './balance-warning.ts';

/** Warns if requests are refused, or will be soon. Usually shows nothing. */
export function BalanceBanner({ organization }: { readonly organization: OrganizationView }): ReactNode {
  const { topUpUrl } = useSession();
  const isOperator = useOrganization().role === 'operator';
  const mayPay = useMayPay();
  const warning = balanceWarning(organization);
  if (warning === undefined) return null;
  if (warning.kind === 'suspended') {
    return (
      <Banner tone="bad" title="This organization is suspended">
        Every request is refused with <code>org_suspended</code> since <Instant atMs={warning.sinceMs} />.
        {!isOperator && ' Ask your operator to resume it.'}
      </Banner>
    );
  }
  const help = topUpUrl === undefined && !isOperator && !mayPay ? ' Ask your operator for credit.' : '';
  if (warning.kind === 'empty') {
    return (
      <Banner tone="bad" title="The balance is used up" action={<PayButton />}>
        Requests are refused with <code>insufficient_credits</code> until you add credit.{help}
      </Banner>
    );
  }
  return (
    <Banner tone="warn" title="The balance is low" action={<PayButton />}>
      At <Money nanoUsd={warning.averageDayNanoUsd} /> a day, the average of the last 7, it lasts for about{' '}
      {warning.hours === 1 ? 'an hour' : `${warning.hours} hours`}.{help}
    </Banner>
  );
}

interface BalanceEndProps {
  readonly organization: OrganizationView;
  /** Shown if there is no forecast. */
  readonly otherwise: ReactNode;
}

const LOW_MS = 7 * 86_400_000;

/** The day on which the balance ends at the current rate. */
export function BalanceEnd({ organization: { forecast }, otherwise }: BalanceEndProps): ReactNode {
  if (forecast === undefined) return otherwise;
  const { endsAtMs, averageDayNanoUsd } = forecast;
  const isLow = endsAtMs - serverMs() < LOW_MS;
  return (
    <span className={isLow ? 'bad' : undefined} data-hint="Based on the average of the last 7 days">
      {isLow && 'Low: '}lasts until {formatDate(endsAtMs)} at <Money nanoUsd={averageDayNanoUsd} /> a day
    </span>
  );
}

/** Links to the credits page or `top_up_url`. With `beside` the current page stays open. */
export function PayButton({ beside = false }: { readonly beside?: boolean }): ReactNode {
  if (!useMayPay()) return <TopUpButton />;
  return (
    <LinkButton
      from="/o/$organization"
      to="/o/$organization/credits"
      search={{ dialog: 'top-up' }}
      {...(beside && { target: '_blank', rel: 'noreferrer' })}
    >
      Add credit
      {beside && <NewTab />}
    </LinkButton>
  );
}

export function useMayPay(): boolean {
  const { takesPayments = false } = useSession();
  return useOrganization().role !== 'member' && takesPayments;
}

/** Opens the page for buying credit in a new tab. Shows nothing if no page is configured. */
export function TopUpButton({ tone = 'neutral' }: { readonly tone?: 'primary' | 'neutral' }): ReactNode {
  const { topUpUrl } = useSession();
  if (topUpUrl === undefined) return null;
  return (
    <ButtonAnchor tone={tone} href={topUpUrl} target="_blank" rel="noreferrer">
      Add credit
      <NewTab />
    </ButtonAnchor>
  );
}
