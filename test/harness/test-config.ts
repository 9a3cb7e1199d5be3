/**
 * The configuration of a test stack, written as JSON, which is valid YAML. Tests set only what they
 * depend on.
 */
export interface TestConfig {
  /** Providers by name. The first one serves the models without targets. */
  readonly providers: Readonly<Record<string, TestProvider>>;
  /** Default of a model's targets: the model of the same name at the first provider. */
  readonly models: Readonly<Record<string, TestModel>>;
  /** Default: none, so one process keeps the limits in its memory. */
  readonly redis?: string;
  readonly workers?: number;
  readonly limits?: Readonly<Record<string, string | number>>;
  readonly timeouts?: Readonly<Record<string, string>>;
  readonly retries?: { readonly per_target: number };
  readonly apis?: Readonly<Partial<Record<'responses' | 'messages' | 'embeddings', boolean>>>;
  readonly extra_request_fields?: Readonly<Record<string, string>>;
  readonly charges?: { readonly durable_in: 'log' | 'database' };
  readonly idempotency?: { readonly retention?: string; readonly bytes_per_organization?: string };
  readonly request_log?: { readonly retention: string };
  readonly top_up_url?: string;
  readonly mail?: { readonly smtp_url: string; readonly from: string; readonly operators?: readonly string[] };
  readonly webhooks?: { readonly private_networks: readonly string[] };
  readonly sign_in?: object;
  readonly payments?: object;
  readonly price_lists?: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly tracing?: {
    readonly otlp_url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly sample?: number;
  };
  readonly trusted_proxies?: readonly string[];
  readonly tls?: { readonly certificate: string; readonly private_key: string };
  /** Default: 0, which means no limit. */
  readonly address_rps?: number;
  /** The defaults of both bounds are above what any test opens. */
  readonly address_connections?: number;
  readonly address_requests?: number;
}

export interface TestProvider {
  /** Either `base_url` or `endpoints` is set. */
  readonly base_url?: string;
  readonly endpoints?: readonly string[];
  readonly endpoint_picker?: string;
  readonly health_check?: { readonly path: string; readonly interval?: string };
  readonly api_key?: string;
  /**
   * Default: the API key in `Authorization`. With `aws` and `oauth2`, Envoy authorizes, without a
   * key.
   */
  readonly auth?: { readonly aws: object } | { readonly oauth2: object } | { readonly header: string };
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream_options?: boolean;
  readonly reasoning_memory?: string;
  readonly extra_fields?: readonly string[];
  readonly request?: object;
  readonly output_limit_field?: string;
  readonly on_disconnect?: 'abort' | 'drain';
  readonly bill_prompt_on_disconnect?: boolean;
  readonly send_traceparent?: boolean;
}

export interface TestPrices {
  readonly input: number;
  /** Absent: the model makes embeddings. */
  readonly output?: number;
  readonly [price: string]: unknown;
}

export interface TestModel {
  readonly capabilities?: readonly string[];
  readonly reasoning_efforts?: readonly string[];
  readonly context_window?: number;
  readonly max_output_tokens?: number;
  readonly default_output_tokens?: number;
  readonly tokenizer?: string;
  readonly usd_per_million_tokens?: TestPrices;
  readonly timeouts?: { readonly first_byte?: string; readonly stream_idle?: string };
  readonly targets?: ReadonlyArray<{
    readonly provider: string;
    readonly model: string;
    readonly weight?: number;
    readonly cost_usd_per_million_tokens?: TestPrices;
    readonly api?: string;
    readonly request?: object;
    readonly reasoning_budgets?: Readonly<Record<string, number>>;
  }>;
  readonly disabled?: boolean;
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

/** All requests of tests come from one address. */
function addressBounds({ address_rps = 0, address_connections = 10_000, address_requests = 100_000 }: TestConfig) {
  return { address_rps, address_connections, address_requests };
}

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
  const { top_up_url, sign_in, payments, price_lists, trusted_proxies, tls, tracing, mail, webhooks } = config;
  const file = {
    listen: {
      api: `127.0.0.1:${ports.api}`,
      dashboard: `127.0.0.1:${ports.dashboard}`,
      metrics: `127.0.0.1:${ports.metrics}`,
      ...addressBounds(config),
      ...(tls ? { tls } : {}),
    },
    ...(trusted_proxies ? { trusted_proxies } : {}),
    stores: { postgres: 'embedded', redis: config.redis ?? 'memory' },
    workers: config.workers ?? 1,
    limits: { request_body: '20MiB', response_body: '64MiB', read_rpm: 6000, ...config.limits },
    // Only tests of these time-outs shorten them: a busy machine may pause for seconds.
    timeouts: { first_byte: '40s', stream_idle: '40s', total: '50s', ...config.timeouts },
    retries: config.retries ?? { per_target: 1 },
    ...(config.charges ? { charges: config.charges } : {}),
    idempotency: config.idempotency ?? { retention: '24h' },
    ...(config.request_log ? { request_log: config.request_log } : {}),
    dashboard: dashboardSection(config, ports),
    ...(top_up_url ? { top_up_url } : {}),
    ...(sign_in ? { sign_in } : {}),
    ...(payments ? { payments } : {}),
    ...(price_lists ? { price_lists } : {}),
    ...(config.apis ? { apis: config.apis } : {}),
    ...(config.extra_request_fields ? { extra_request_fields: config.extra_request_fields } : {}),
    ...(tracing ? { tracing } : {}),
    ...(mail ? { mail } : {}),
    ...(webhooks ? { webhooks } : {}),
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
