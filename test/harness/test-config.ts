import type { z } from 'zod';
import type { CONFIG_FILE } from '#core/config/schema.ts';

type DeepReadonly<T> = T extends object ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> } : T;
type ConfigFile = DeepReadonly<z.input<typeof CONFIG_FILE>>;
type Listen = NonNullable<ConfigFile['listen']>;

export type TestProvider = NonNullable<ConfigFile['providers']>[string];
type ModelEntry = NonNullable<ConfigFile['models']>[string];
/** Tests write capabilities without literal types. Embedding models have no price of output. */
export interface TestModel extends Partial<Omit<ModelEntry, 'capabilities' | 'usd_per_million_tokens'>> {
  readonly capabilities?: readonly string[];
  readonly usd_per_million_tokens?: Partial<ModelEntry['usd_per_million_tokens']>;
}

/**
 * The configuration of a test stack, written as JSON, which is valid YAML. Tests set only what they
 * depend on.
 */
export interface TestConfig
  extends Omit<ConfigFile, 'listen' | 'stores' | 'dashboard' | 'demo' | 'providers' | 'models'>,
    Pick<Listen, 'tls' | 'address_rps' | 'address_connections' | 'address_requests'> {
  /** The first one serves the models without targets. */
  readonly providers: Readonly<Record<string, TestProvider>>;
  /** Default of the targets: the model of the same name at the first provider. */
  readonly models: Readonly<Record<string, TestModel>>;
  /** Default: none, so one process keeps the limits in its memory. */
  readonly redis?: string;
}

export interface Ports {
  readonly api: number;
  readonly metrics: number;
  readonly dashboard: number;
}

/** No provider's real secret, and easy to find in logs and files. */
export const PROVIDER_SECRET = 'provider-secret-4f1c9b';

/**
 * 1 USD per million input or output tokens: a token costs 1,000 nano-dollars, which makes sums easy
 * to read.
 */
const PLAIN_PRICES = { input: 1, output: 1 };

/** Mails link to the dashboard. */
function dashboardSection({ mail }: TestConfig, { api, dashboard }: Ports) {
  const url = mail === undefined ? {} : { url: `http://127.0.0.1:${dashboard}` };
  return { playground_url: `http://127.0.0.1:${api}/v1`, ...url };
}

export function renderTestConfig(config: TestConfig, ports: Ports): string {
  const firstProvider = Object.keys(config.providers)[0] ?? '';
  const models = Object.entries(config.models).map(([id, model]) => [
    id,
    {
      context_window: 100_000,
      max_output_tokens: 10_000,
      usd_per_million_tokens: PLAIN_PRICES,
      targets: [{ provider: firstProvider, model: id }],
      ...model,
    },
  ]);
  const providers = Object.entries(config.providers).map(([name, provider]) => [
    name,
    provider.auth === undefined ? { api_key: PROVIDER_SECRET, ...provider } : provider,
  ]);
  const { redis, tls, address_rps = 0, address_connections = 10_000, address_requests = 100_000, ...sections } = config;
  const file = {
    workers: 1,
    retries: { per_target: 1 },
    ...sections,
    listen: {
      api: `127.0.0.1:${ports.api}`,
      dashboard: `127.0.0.1:${ports.dashboard}`,
      metrics: `127.0.0.1:${ports.metrics}`,
      // All requests of tests come from one address.
      ...{ tls, address_rps, address_connections, address_requests },
    },
    stores: { postgres: 'embedded', redis: redis ?? 'memory' },
    limits: { request_body: '20MiB', response_body: '64MiB', read_rpm: 6000, ...config.limits },
    // Only tests of these time-outs shorten them: a busy machine may pause for seconds.
    timeouts: { first_byte: '40s', stream_idle: '40s', total: '50s', ...config.timeouts },
    dashboard: dashboardSection(config, ports),
    demo: false,
    providers: Object.fromEntries(providers),
    models: Object.fromEntries(models),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/**
 * The file for containers: the environment names the stores, and addresses are those in
 * deploy/compose/config/gateway.yaml and deploy/kubernetes.
 */
export function renderContainerConfig(config: TestConfig): string {
  const file = JSON.parse(renderTestConfig(config, { api: 0, metrics: 0, dashboard: 0 }));
  const { stores: _, workers: __, ...rest } = file;
  const listen = { api: '0.0.0.0:8080', metrics: '0.0.0.0:9464', dashboard: '0.0.0.0:8081' };
  return JSON.stringify({ ...rest, listen });
}
