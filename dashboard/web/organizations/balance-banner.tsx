import type { ReactNode } from 'react';
import type { OrganizationView } from '../../contract/organization.ts';
import { useSession } from '../api/session.ts';
import { Banner } from '../components/banner.tsx';
import { ButtonAnchor } from '../components/button.tsx';
import { Instant, Money } from '../components/figures.tsx';
import { Icon } from '../components/icon.tsx';
import { useOrganization } from '../shell/use-organization.ts';
import { balanceWarning } from './balance-warning.ts';

export interface BalanceBannerProps {
  readonly organization: OrganizationView;
  /** Spend of the last seven days. Absent while unknown. */
  readonly spentNanoUsd: string | undefined;
}

/** Warns that requests are refused, or will be soon. Usually shows nothing. */
export function BalanceBanner({ organization, spentNanoUsd }: BalanceBannerProps): ReactNode {
  const { topUpUrl } = useSession();
  const isOperator = useOrganization().role === 'operator';
  const warning = balanceWarning(organization, spentNanoUsd);
  if (warning === undefined) return null;
  if (warning.kind === 'suspended') {
    return (
      <Banner tone="bad" title="This organization is suspended">
        Every request is refused with <code>org_suspended</code> since <Instant atMs={warning.sinceMs} />.
        {!isOperator && ' Ask your operator to resume it.'}
      </Banner>
    );
  }
  const help = topUpUrl === undefined && !isOperator ? ' Ask your operator for credit.' : '';
  if (warning.kind === 'empty') {
    return (
      <Banner tone="bad" title="No balance is left" action={<TopUpButton />}>
        Requests are refused with <code>insufficient_credits</code> until there is credit again.{help}
      </Banner>
    );
  }
  return (
    <Banner tone="warn" title="The balance is low" action={<TopUpButton />}>
      At <Money nanoUsd={warning.averageDayNanoUsd} /> a day, the average of the last 7, it lasts for about{' '}
      {warning.hours === 1 ? 'an hour' : `${warning.hours} hours`}.{help}
    </Banner>
  );
}

/** Opens the page for buying credit in a new tab. Shows nothing if none is configured. */
export function TopUpButton({ tone = 'neutral' }: { readonly tone?: 'primary' | 'neutral' }): ReactNode {
  const { topUpUrl } = useSession();
  if (topUpUrl === undefined) return null;
  return (
    <ButtonAnchor tone={tone} href={topUpUrl} target="_blank" rel="noreferrer">
      Add credit
      <Icon name="external" />
      <span className="visually-hidden">(opens in a new tab)</span>
    </ButtonAnchor>
  );
}
