import { writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { loadConfig } from '#core/config/load.ts';
import { clusterOf as clusterOfProvider } from '#ext-proc/envoy-config/provider-cluster.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import type { EnvoyProcess } from './envoy-process.ts';

/**
 * Helpers of the tests of provider clusters: they load configurations as production does, and send
 * requests through the egress listener.
 */

export const PROVIDER_SECRET = 'provider-secret-77';

/**
 * A configuration with these providers. Each has one model, named like the provider. It is loaded
 * from a file, as in production.
 */
export async function configOf(
  envoy: EnvoyProcess,
  urls: Readonly<Record<string, string>>,
  caPath?: string,
): Promise<GatewayConfig> {
  const entries = Object.entries(urls).map(([name, url]) => [name, { base_url: url, api_key: PROVIDER_SECRET }]);
  return configFrom(envoy, Object.fromEntries(entries), { caPath });
}

/** The same, with whole provider entries of the file. `more` adds sections to the file. */
export async function configFrom(
  envoy: EnvoyProcess,
  providers: Readonly<Record<string, object>>,
  { caPath, more = {} }: { readonly caPath?: string | undefined; readonly more?: object },
): Promise<GatewayConfig> {
  const entry = { context_window: 100, max_output_tokens: 10, usd_per_million_tokens: { input: 1, output: 1 } };
  const file = {
    timeouts: { total: '100ms' },
    providers,
    models: Object.fromEntries(
      Object.keys(providers).map((name) => [name, { ...entry, targets: [{ provider: name, model: name }] }]),
    ),
    ...more,
  };
  const path = join(envoy.paths.dataDir, 'gateway.yaml');
  await writeFile(path, JSON.stringify(file));
  const result = await loadConfig(path, caPath === undefined ? {} : { SSL_CERT_FILE: caPath });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

export function clusterOf(config: GatewayConfig, name: string): string {
  const provider = config.providers.get(name);
  if (provider === undefined) throw new Error(`no provider ${name}`);
  return clusterOfProvider(provider);
}

export async function activeClusters(envoy: EnvoyProcess): Promise<string[]> {
  const dump = await envoy.admin('/config_dump?resource=dynamic_active_clusters&mask=cluster.name');
  const { configs = [] }: { configs?: { cluster: { name: string } }[] } = JSON.parse(dump);
  return configs.map(({ cluster }) => cluster.name).sort();
}

export interface EgressAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export function call(envoy: EnvoyProcess, cluster: string, host: string, stream = false): Promise<EgressAnswer> {
  const body = JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'hello' }] });
  return callWith(envoy, { cluster, headers: { host }, body });
}

export interface EgressCall {
  readonly cluster: string;
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export function callWith(
  envoy: EnvoyProcess,
  { cluster, path = '/v1/chat/completions', headers, body = '{"model":"m"}' }: EgressCall,
): Promise<EgressAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({
      socketPath: envoy.paths.egressSocket,
      // Tests stop their providers right after a response. If that cuts the last HTTP/2 frame,
      // Envoy closes this connection soon after, so no call reuses it.
      agent: false,
      method: 'POST',
      path,
      headers: { ...headers, 'x-gw-cluster': cluster, 'content-type': 'application/json' },
      timeout: 10_000,
    });
    sent.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      answer.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', reject);
    sent.end(body);
  });
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error('it did not happen');
    await wait(20);
  }
}
