import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { inRanges } from '#core/net/ip-ranges.ts';
import { type Finding, ok, problem, skipped, warning } from './check.ts';
import type { LookedAt } from './database.ts';

const CHECK = 'dashboard proxies';
const NAME_IT =
  'If it is your proxy, add its address to trusted_proxies. If not, close the dashboard’s address to others.';

/** Private networks. A sender of the header in one is the operator's proxy, not a forger. */
const OWN = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
];

/**
 * Checks for proxies in front of the dashboard that `trusted_proxies` does not list. All users
 * behind one share an address, and therefore its sign-in limits.
 */
export async function lookAtProxies(
  { readable }: LookedAt,
  config: Pick<GatewayConfig, 'dashboard' | 'trustedProxies'> | undefined,
): Promise<readonly Finding[]> {
  const configured = config === undefined ? [] : lookAtConfiguration(config);
  if (readable === undefined) return [...configured, skipped(CHECK, 'the database cannot be read')];
  const trusted = config?.trustedProxies ?? [];
  const seen = (await readable.untrustedProxies()).filter((address) => !inRanges(address, trusted));
  const findings = seen.map((address) => {
    const found = `${address} sent X-Forwarded-For within the hour, and is not in trusted_proxies`;
    return inRanges(address, OWN) ? problem(CHECK, found, NAME_IT) : warning(CHECK, found, NAME_IT);
  });
  const all = [...configured, ...findings];
  return all.length > 0 ? all : [ok(CHECK, 'none that is not trusted')];
}

function lookAtConfiguration({ dashboard, trustedProxies }: Pick<GatewayConfig, 'dashboard' | 'trustedProxies'>) {
  if (dashboard.url?.startsWith('https:') !== true || trustedProxies.length > 0) return [];
  const found = 'dashboard.url is https, so a proxy speaks TLS in front, and trusted_proxies is empty';
  return [warning(CHECK, found, 'List the proxy in trusted_proxies. Until then all callers have its address.')];
}
