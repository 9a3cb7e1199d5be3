import type { ReactNode } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { serverMs } from '../api/server-clock.ts';
import { Money } from '../components/values.tsx';
import { formatDate } from '../format/format.ts';

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
