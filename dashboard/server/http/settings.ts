import type { DoorApi } from '#core/config/apis.ts';
import type { DashboardProcessConfig } from '#core/config/dashboard-config.ts';
import type { DashboardSessionConfig } from '#core/config/gateway-config.ts';
import type { Address } from '#core/config/network-names.ts';
import { present } from '#core/present.ts';

/** Settings as in the configuration. Absent ones are absent here too. */
type FromConfig = 'trustedProxies' | 'signIn' | 'brand' | 'topUpUrl' | 'mail' | 'privateNetworks' | 'stripe';

export interface Settings extends Pick<DashboardProcessConfig, FromConfig> {
  readonly api: Address;
  readonly apiSpeaksTls: boolean;
  /** APIs that clients may use besides chat completions. */
  readonly apis: readonly DoorApi[];
  readonly session: DashboardSessionConfig;
  readonly url?: URL;
  readonly apiUrl?: string;
  /** Absent: there is no playground. */
  readonly playgroundUrl?: string;
}

export function settingsOf(config: DashboardProcessConfig): Settings {
  const { listen, apis, trustedProxies, dashboard, topUpUrl, signIn, brand, mail, privateNetworks, stripe } = config;
  return {
    api: listen.api,
    apiSpeaksTls: listen.tls !== undefined,
    apis: [...apis],
    trustedProxies,
    session: dashboard.session,
    signIn,
    brand,
    privateNetworks,
    ...(dashboard.url === undefined ? {} : { url: new URL(dashboard.url) }),
    ...present({ apiUrl: dashboard.apiUrl, playgroundUrl: dashboard.playgroundUrl, topUpUrl, mail, stripe }),
  };
}

/** Warnings about values that are valid, but usually a mistake. */
export function risksOf({ dashboard, trustedProxies, mail, stripe }: DashboardProcessConfig): readonly string[] {
  // This process does not support TLS, so a proxy in front terminates it.
  const isNamelessProxy = dashboard.url?.startsWith('https:') === true && trustedProxies.length === 0;
  return [
    ...(isNamelessProxy
      ? [
          'dashboard.url is https and trusted_proxies is empty: name the proxy in front, or all callers have its address',
        ]
      : []),
    ...(mail !== undefined && dashboard.url === undefined
      ? ['mail is configured without dashboard.url: the host of a link in a mail is that of the request for it']
      : []),
    ...(stripe !== undefined && /^[sr]k_test_/.test(stripe.secretKey)
      ? ['payments.stripe.secret_key is one of test mode: cards that cost nothing buy credit']
      : []),
  ];
}
