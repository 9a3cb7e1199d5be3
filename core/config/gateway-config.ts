import type { ModelPrices, PriceList } from '../price-list.ts';
import type { PriceSchedule } from '../price-schedule.ts';
import type { PriceTable } from '../pricing.ts';
import type { Tokenizer } from '../tokenizer.ts';
import type { DoorApi } from './apis.ts';
import type { Address } from './network-names.ts';
import type { ProviderApi } from './provider-api.ts';
import type { StoresConfig } from './stores.ts';
import type { TracingConfig } from './tracing.ts';

/** The configuration for every process, without values that only the gateway process sends. */
export interface SharedConfig {
  readonly listen: ListenConfig;
  readonly trustedProxies: readonly string[];
  readonly stores: Omit<StoresConfig, 'redis'>;
  readonly workers: number;
  readonly limits: {
    readonly requestBodyBytes: number;
    readonly responseBodyBytes: number;
    readonly readRequestsPerMinute: number;
    readonly refusedRequestsPerMinute: number;
  };
  /** Other time-outs are set for each model. */
  readonly timeouts: {
    readonly totalMs: number;
    /** Silence of a stream after which its client gets a comment line. 0: it gets none. */
    readonly heartbeatMs: number;
  };
  /** Attempts at the same target after the first one. */
  readonly retriesPerTarget: number;
  /** Whether the end of a response waits for the fsync of its charge in the log, or its commit. */
  readonly chargesDurableIn: 'log' | 'database';
  readonly idempotencyRetentionMs: number;
  /** Bytes of stored responses after encryption. */
  readonly idempotencyBytesPerOrganization: number;
  readonly requestLogRetentionMs: number;
  readonly topUpUrl?: string;
  readonly dashboard: DashboardConfig;
  readonly demo: boolean;
  /** The APIs besides chat completions that clients may speak. */
  readonly apis: ReadonlySet<DoorApi>;
}

/**
 * SharedConfig with the models. It contains no secrets, but it is known which are missing, and so
 * which models cannot work.
 */
export interface CheckedConfig extends SharedConfig {
  readonly stores: StoresConfig;
  readonly providers: ReadonlyMap<string, KeylessProvider>;
  readonly models: ReadonlyMap<string, Model<KeylessProvider>>;
  /** By name. */
  readonly priceLists: ReadonlyMap<string, PriceList>;
}

export type ExtraFieldType = 'integer' | 'number' | 'boolean' | 'string' | 'object' | 'array';

/** Configuration of the gateway process. Immutable: a request keeps the one it began with. */
export interface GatewayConfig extends CheckedConfig {
  /** Request fields besides the official ones. */
  readonly extraRequestFields?: ReadonlyMap<string, ExtraFieldType>;
  /** Absent: tracing is off. */
  readonly tracing?: TracingConfig;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly models: ReadonlyMap<string, Model>;
}

export interface ListenConfig {
  readonly api: Address;
  readonly dashboard: Address;
  readonly metrics: Address;
  /** Limits of one client address at `api`. 0: no limit. */
  readonly perAddress: {
    readonly connections: number;
    readonly openRequests: number;
    readonly requestsPerSecond: number;
  };
  /** Absolute paths of PEM files. */
  readonly tls?: { readonly certificatePath: string; readonly privateKeyPath: string };
}

/** Public addresses, which cannot be derived behind a proxy. */
export interface DashboardConfig {
  /** Origin of the dashboard. Absent: the origin that the browser sends. */
  readonly url?: string;
  /** Base URL of the API, for snippets. Absent: the browser's host and the port of `listen.api`. */
  readonly apiUrl?: string;
  /** Base URL at which the dashboard's server reaches the API. Absent: no playground. */
  readonly playgroundUrl?: string;
  readonly session: DashboardSessionConfig;
}

export interface DashboardSessionConfig {
  /** Ends after this time without a request. */
  readonly idleMs: number;
  /** Ends after this time in any case. */
  readonly absoluteMs: number;
  /** Time for which a password counts as fresh. */
  readonly freshPasswordMs: number;
}

export interface KeylessProvider {
  readonly name: string;
  /** API of targets that name none. */
  readonly api: ProviderApi;
  /**
   * An http or https URL. The pathname has no slash at the end, unless it is `/`. With `endpoints`
   * it is the first of them.
   */
  readonly baseUrl: URL;
  /** The operator's own interchangeable servers, of one scheme and path. Absent: only `baseUrl`. */
  readonly endpoints?: readonly URL[];
  /** The http URL of the server that picks one of the endpoints. It gets the body. */
  readonly endpointPicker?: URL;
  /** How Envoy checks each server. Absent: only requests show whether it works. */
  readonly healthCheck?: HealthCheck;
  /** Absent: `Authorization: Bearer …` with the key. */
  readonly auth?: ProviderAuth;
  readonly outputLimitField: string;
  /** Names of `extra_request_fields` that this provider accepts. */
  readonly extraFields?: ReadonlySet<string>;
  /** Present: `stream_options` is never sent. Usage is counted if the provider reports none. */
  readonly streamOptions?: false;
  readonly onDisconnect?: 'abort' | 'drain';
  /** False: a stream cancelled before its first event is billed neither to us nor to the client. */
  readonly billPromptOnDisconnect?: false;
  /** Present: requests carry their trace, for servers of the operator's own. */
  readonly sendTraceparent?: true;
  /** `anthropic-version` of calls of the Messages API. Absent: the dialect's default. */
  readonly anthropicVersion?: string;
  /**
   * Member in which a provider of chat completions gets its reasoning back: of messages with tool
   * calls, or of the calls (Gemini's signatures). Absent: it does not want it.
   */
  readonly reasoningMemory?: 'reasoning_content' | 'extra_content';
  /** Verifies certificates of https servers; shared by all providers. */
  readonly trustedCa?: CaBundle;
}

/** A bundle as it was read. Its file may be another one by now. */
export interface CaBundle {
  readonly pem: string;
  /** SHA-256 of `pem`. */
  readonly digest: string;
}

export interface HealthCheck {
  /** Path from the root, with a query if there is one. */
  readonly path: string;
  readonly intervalMs: number;
}

/** How calls are authorized: `header` with a key by the gateway, anything else by Envoy. */
export type ProviderAuth = { readonly kind: 'header'; readonly name: string } | AwsAuth | OAuth2Auth;

/** Each request is signed (SigV4), with its body. */
export interface AwsAuth {
  readonly kind: 'aws';
  readonly region: string;
  readonly service: string;
  /** Longest body that is signed: Envoy buffers it. */
  readonly longestBodyBytes: number;
}

/** Each request has a token that Envoy fetches with client credentials and renews. */
export interface OAuth2Auth {
  readonly kind: 'oauth2';
  readonly tokenUrl: URL;
  readonly scopes: readonly string[];
}

/** Secrets for `auth`. Envoy reads them from a separate file. */
export type ProviderCredentials = AwsCredentials | OAuth2Client;

export interface AwsCredentials {
  readonly kind: 'aws';
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface OAuth2Client {
  readonly kind: 'oauth2';
  readonly id: string;
  readonly secret: string;
}

export interface Provider extends KeylessProvider {
  /** Absent: no Authorization header (local models). Missing secrets are the models' `problem`. */
  readonly apiKey?: string;
  /** Parameters of the URL of every call. The values are secrets. */
  readonly query?: Readonly<Record<string, string>>;
  /** Further headers of every call, names in lower case. The values are secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent for `aws`: Envoy reads them from its environment. */
  readonly credentials?: ProviderCredentials;
}

/** `configAt` chooses the prices in force for each request. */
export interface Model<OfProvider extends KeylessProvider = Provider> extends ModelPrices {
  readonly id: string;
  readonly capabilities: ReadonlySet<Capability>;
  readonly reasoningEfforts: readonly string[];
  readonly contextWindow: number;
  /** Longest prompt that the provider reads. Absent: the context window. */
  readonly longestPrompt?: number;
  readonly maxOutputTokens: number;
  readonly defaultOutputTokens: number;
  /** The model's own prices. Present if the prices above are those of a price list. */
  readonly own?: ModelPrices;
  /** Tokenizer that can count the input before the request is served. `bytes`: unknown. */
  readonly tokenizer: Tokenizer | 'bytes';
  /** At most `timeouts.totalMs`. */
  readonly timeouts: { readonly firstByteMs: number; readonly streamIdleMs: number };
  /** Usable targets, tried in order. Empty exactly when `problem` is set. */
  readonly targets: readonly Target<OfProvider>[];
  readonly disabled: boolean;
  /** Why requests get `upstream_config_error`, such as a missing secret. For the log only. */
  readonly problem?: string;
}

/** `embeddings`: the model only makes embeddings, so it has no output and no other capability. */
export type Capability = 'tools' | 'vision' | 'json_mode' | 'files' | 'embeddings';

/** Changes of the body of a request, in this order. Values are JSON text. */
export interface RequestShaping {
  readonly drop: ReadonlySet<string>;
  readonly rename: ReadonlyMap<string, string>;
  readonly set: ReadonlyMap<string, string>;
  readonly setWithTools: ReadonlyMap<string, string>;
  readonly roles: ReadonlyMap<string, string>;
}

export interface Target<OfProvider extends KeylessProvider = Provider> {
  readonly provider: OfProvider;
  readonly model: string;
  /** Changes of the provider, then of the target. Absent: the body is not changed. */
  readonly shaping?: readonly RequestShaping[];
  /** Present: the target is drawn by weight from the targets of its step, which are neighbours. */
  readonly draw?: { readonly step: number; readonly weight: number };
  readonly api: ProviderApi;
  /** Prices that the operator pays for this target. */
  readonly costTable?: PriceTable;
  readonly costSchedule?: PriceSchedule;
  /** Reasoning budget in tokens by effort, for models that accept a budget instead of an effort. */
  readonly reasoningBudgets?: ReadonlyMap<string, number>;
}
