import type { OrganizationView } from '../../contract/organization.ts';

/** What has to be said above everything else about an organization's money; the gravest of it. */
export type BalanceWarning =
  | { readonly kind: 'suspended'; readonly sinceMs: number }
  /** Requests are refused with `insufficient_credits`. */
  | { readonly kind: 'empty' }
  /** `hours` until it is used up, at the pace of the last seven days. */
  | { readonly kind: 'low'; readonly averageDayNanoUsd: string; readonly hours: number };

const DAYS = 7n;

/** `spentNanoUsd`: in the last seven days; absent while it is not known. */
export function balanceWarning(organization: OrganizationView, spentNanoUsd?: string): BalanceWarning | undefined {
  if (organization.suspendedAtMs !== undefined) return { kind: 'suspended', sinceMs: organization.suspendedAtMs };
  const available = availableNanoUsd(organization);
  if (available <= 0n) return { kind: 'empty' };
  const averageDay = spentNanoUsd === undefined ? 0n : BigInt(spentNanoUsd) / DAYS;
  if (available >= averageDay) return undefined;
  return {
    kind: 'low',
    averageDayNanoUsd: averageDay.toString(),
    hours: Math.max(1, Math.floor((Number(available) / Number(averageDay)) * 24)),
  };
}

/** What new requests can use: what requests in flight hold is spoken for. */
export function availableNanoUsd({ balanceNanoUsd, heldNanoUsd }: OrganizationView): bigint {
  return BigInt(balanceNanoUsd) - BigInt(heldNanoUsd);
}
