import { type Refusal, refuse } from '#core/errors/refusal.ts';
import { inRanges } from '#core/net/ip-ranges.ts';
import type { Principal } from '#core/principal.ts';
import type { Route } from './route.ts';

/** Refuses a caller in the order of docs/interface.md, "Order of checks". */
export function authorizeCaller(principal: Principal, address: string, route: Route): Refusal | undefined {
  const { key, organization } = principal;
  if (key.ipRanges !== undefined && !inRanges(address, key.ipRanges)) return refuse('ip_not_allowed', { address });
  if (organization.suspended) return refuse('org_suspended');
  if (route.scope !== undefined && !key.scopes.has(route.scope)) return refuse('missing_scope', { scope: route.scope });
  return undefined;
}
