import type { Address, DashboardSessionConfig, SharedConfig } from '../../../core/config/gateway-config.ts';

/** The part of the configuration that the dashboard uses. */
export interface Settings {
  readonly api: Address;
  readonly apiSpeaksTls: boolean;
  readonly trustedProxies: readonly string[];
  readonly session: DashboardSessionConfig;
  readonly url?: URL;
  readonly apiUrl?: string;
  readonly topUpUrl?: string;
}

export function settingsOf({ listen, trustedProxies, dashboard, topUpUrl }: SharedConfig): Settings {
  return {
    api: listen.api,
    apiSpeaksTls: listen.tls !== undefined,
    trustedProxies,
    session: dashboard.session,
    ...(dashboard.url === undefined ? {} : { url: new URL(dashboard.url) }),
    ...(dashboard.apiUrl === undefined ? {} : { apiUrl: dashboard.apiUrl.replace(/\/+$/, '') }),
    ...(topUpUrl === undefined ? {} : { topUpUrl }),
  };
}
