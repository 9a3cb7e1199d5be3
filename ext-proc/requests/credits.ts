import { isRefusal } from '#core/errors/refusal.ts';
import { usdNumber } from '#core/money.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';
import type { SettledDeps } from './generation.ts';
import { readQuery } from './query.ts';

export interface CreditsDeps extends SettledDeps {
  readonly limits: Pick<LimitStore, 'heldNanoUsd'>;
}

/** `GET /v1/credits`: the balance, what requests and dead letters hold, and what is available. */
export async function showCredits(
  request: AuthorizedRequest,
  { ledger, limits, accounting }: CreditsDeps,
): Promise<EndpointResult> {
  const query = readQuery(request.route.query, []);
  if (isRefusal(query)) return query;
  const limited = await request.takeRead();
  if (limited) return limited;
  const organizationId = request.principal.organization.id;
  await accounting.shipper.shipOf(organizationId);
  // Holds are read first. They end after their charges are committed, so no amount is in neither.
  const heldByRequestsNanoUsd = await limits.heldNanoUsd(organizationId, request.arrivedAtMs);
  const credits = await ledger.credits(organizationId);
  const heldNanoUsd = heldByRequestsNanoUsd + credits.deadLettersNanoUsd;
  return {
    kind: 'json',
    body: {
      data: {
        balance: usdNumber(credits.balanceNanoUsd),
        held: usdNumber(heldNanoUsd),
        available: usdNumber(credits.balanceNanoUsd - heldNanoUsd),
        total_credits: usdNumber(credits.totalCreditsNanoUsd),
        total_usage: usdNumber(credits.totalUsageNanoUsd),
        currency: 'USD',
      },
    },
  };
}
