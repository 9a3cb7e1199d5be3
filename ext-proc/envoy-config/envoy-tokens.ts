import type { Provider } from '#core/config/gateway-config.ts';
import { askAdmin } from './envoy-admin.ts';
import { tokenClusterName } from './provider-auth-filters.ts';
import { clusterOf } from './provider-cluster.ts';

/** The public members of EnvoyTokens, so that tests can have an object of their own. */
export type ProviderTokens = Pick<EnvoyTokens, keyof EnvoyTokens>;

/** `refused`: the token endpoint does not accept the credentials. */
export type WhyNoToken = 'pending' | 'refused' | 'unavailable';

/** Requests for the tokens of a provider, since Envoy's start. */
interface TokenCounts {
  readonly fetched: number;
  readonly failed: number;
  /** Failed requests that the token endpoint refused because of the credentials. */
  readonly refused: number;
}

interface Known {
  readonly counts: TokenCounts;
  readonly why: WhyNoToken;
}

/** Reads from Envoy's statistics whether it has a provider's token. */
export class EnvoyTokens {
  readonly #adminSocket: string;
  readonly #settled = new WeakSet<Provider>();
  readonly #asking = new WeakMap<Provider, Promise<TokenCounts | undefined>>();
  readonly #known = new WeakMap<Provider, Known>();

  constructor(adminSocket: string) {
    this.#adminSocket = adminSocket;
  }

  /** True if Envoy has a token, or failed to get one. */
  async isSettled(provider: Provider): Promise<boolean> {
    if (this.#settled.has(provider)) return true;
    const counts = await this.#counts(provider);
    // Envoy does not respond, so there is nothing to wait for.
    if (counts === undefined) return true;
    if (counts.fetched + counts.failed === 0) return false;
    this.#settled.add(provider);
    return true;
  }

  /** Reason why Envoy rejected a request for this provider. */
  async whyNone(provider: Provider): Promise<WhyNoToken> {
    const counts = await this.#counts(provider);
    if (counts === undefined) return 'unavailable';
    const why = reasonFor(counts, this.#known.get(provider));
    if (why === 'pending') this.#settled.delete(provider);
    this.#known.set(provider, { counts, why });
    return why;
  }

  /** Reads the counts. Concurrent calls share one query. */
  #counts(provider: Provider): Promise<TokenCounts | undefined> {
    const asking = this.#asking.get(provider) ?? this.#read(provider).finally(() => this.#asking.delete(provider));
    this.#asking.set(provider, asking);
    return asking;
  }

  async #read(provider: Provider): Promise<TokenCounts | undefined> {
    const cluster = clusterOf(provider);
    const own = `${cluster}credential_injector\\.oauth2\\.token_fetch(ed|_failed_.*)`;
    const filter = `^cluster\\.(${own}|${tokenClusterName(cluster)}\\.upstream_rq_(400|401|403))$`;
    const stats = await askAdmin(this.#adminSocket, `/stats?filter=${encodeURIComponent(filter)}`);
    return stats === undefined ? undefined : countsIn(stats);
  }
}

/** A counter that changed since the last query tells how the newest request for a token ended. */
function reasonFor(counts: TokenCounts, before: Known | undefined): WhyNoToken {
  if (counts.fetched + counts.failed === 0) return 'pending';
  if (before !== undefined && before.counts.failed === counts.failed) return before.why;
  return counts.refused > (before?.counts.refused ?? 0) ? 'refused' : 'unavailable';
}

function countsIn(stats: string): TokenCounts {
  const counts = { fetched: 0, failed: 0, refused: 0 };
  for (const [, name = '', value] of stats.matchAll(/\.(\w+): (\d+)$/gm)) {
    // No failure: Envoy first asks for a token a moment before it has read the secret.
    if (name === 'token_fetch_failed_on_client_secret') continue;
    const kind = name === 'token_fetched' ? 'fetched' : name.startsWith('token_') ? 'failed' : 'refused';
    counts[kind] += Number(value);
  }
  return counts;
}
