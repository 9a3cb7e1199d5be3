import { resolve } from 'node:path';
import type { ListenConfig } from './gateway-config.ts';
import type { ConfigFile } from './schema.ts';

export function listen({ listen }: ConfigFile, folder: string): ListenConfig {
  const { api, dashboard, metrics } = listen;
  const perAddress = {
    connections: listen.address_connections,
    openRequests: listen.address_requests,
    requestsPerSecond: listen.address_rps,
  };
  const tls = tlsPaths(listen, folder);
  return { api, dashboard, metrics, perAddress, ...(tls === undefined ? {} : { tls }) };
}

export function tlsPaths({ tls }: Pick<ConfigFile['listen'], 'tls'>, folder: string): ListenConfig['tls'] {
  if (tls === undefined) return undefined;
  return { certificatePath: resolve(folder, tls.certificate), privateKeyPath: resolve(folder, tls.private_key) };
}
