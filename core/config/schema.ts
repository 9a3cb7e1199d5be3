import { z } from 'zod';
import { DAY_MS, HOUR_MS } from '../clock.ts';
import { normalizeIpRange } from '../net/ip-ranges.ts';
import type { DoorApi } from './apis.ts';
import { brand } from './brand.ts';
import { extraFields, extraRequestFields, OFFICIAL_FIELDS } from './extra-fields.ts';
import { mail, webhooks } from './mail.ts';
import { parseAddress, parseBaseUrl, parsePublicUrl, parseSiteUrl, parseUrlPrefix } from './network-names.ts';
import { payments } from './payments.ts';
import { priceLists } from './price-lists.ts';
import { priceSchedule } from './price-schedule.ts';
import { PROVIDER_APIS } from './provider-api.ts';
import { auth } from './provider-auth-fields.ts';
import { endpointPicker, healthCheck, MAX_ENDPOINTS } from './provider-endpoints.ts';
import { headers, query } from './provider-fields.ts';
import { requestShaping } from './request-shaping.ts';
import { duration, flag, list, matching, named, oneOf, readText, section, size, whole } from './schema-fields.ts';
import { signIn } from './sign-in.ts';
import { stores } from './stores.ts';
import { tracing } from './tracing.ts';

/**
 * The configuration file, field by field, with defaults and bounds. Strict: an unknown field is a
 * problem that lists the accepted ones. Rules between fields are in rules.ts.
 */

const SECOND_MS = 1000;
const KIB = 1024;
/** A body is parsed in memory as one string, whose length V8 limits to about 512 MiB. */
const MAX_BODY_BYTES = 256 * KIB * KIB;
const MAX_STORED_BYTES = 1024 * KIB ** 3;
const MAX_TOKENS = 100_000_000;

const address = readText('an IP address and a port, such as 127.0.0.1:8080 or "[::]:8080"', parseAddress);
const cidr = readText('an address range such as 10.0.0.0/8, fd00::/8 or 192.0.2.1', normalizeIpRange);
const filePath = matching(/^[^\0]{1,4096}$/, 'the path of a file, relative to the folder of the configuration');

const publicUrl = readText('an http or https URL without credentials', parsePublicUrl);

/** Cookies, links and sign-in are of the whole site. */
const siteUrl = readText(
  'an http or https URL such as https://dashboard.example.com, without path, credentials, query and fragment',
  (text) => parseSiteUrl(text)?.href,
);

const PROVIDER_NAME = 'the name of a provider: 1 to 63 letters, digits, "_" and "-", beginning with a letter or digit';
const providerName = matching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, PROVIDER_NAME);

const MODEL_ID = 'a model id: 1 to 128 letters, digits and . _ : / @ + -, beginning with a letter or digit';
const modelId = matching(/^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/, MODEL_ID);

const listen = section({
  api: address.prefault('0.0.0.0:8080'),
  dashboard: address.prefault('127.0.0.1:8081'),
  metrics: address.prefault('127.0.0.1:9464'),
  tls: section({ certificate: filePath, private_key: filePath }).optional(),
  address_connections: whole(0, 50_000).prefault(1_000),
  address_requests: whole(0, 100_000).prefault(2_000),
  address_rps: whole(0, 1_000_000).prefault(10_000),
});

const limits = section({
  request_body: size(KIB, MAX_BODY_BYTES).prefault('20MiB'),
  response_body: size(KIB, MAX_BODY_BYTES).prefault('64MiB'),
  read_rpm: whole(1, 1_000_000).prefault(600),
  refused_rpm: whole(1, 10_000_000).prefault(3000),
});

/** `total` bounds all waits, also larger values of `first_byte` and `stream_idle`. */
const timeouts = section({
  first_byte: duration(100, HOUR_MS).optional(),
  stream_idle: duration(100, HOUR_MS).prefault('120s'),
  total: duration(100, HOUR_MS).prefault('15m'),
  heartbeat: duration(100, HOUR_MS, 'or never').prefault('15s'),
});

/** Time-outs of one model, which override the global ones. */
const modelTimeouts = section({
  first_byte: duration(100, HOUR_MS).optional(),
  stream_idle: duration(100, HOUR_MS).optional(),
});

/** An output limit in another official field would break the request or have no effect. */
function hasOtherMeaning(field: string): boolean {
  return OFFICIAL_FIELDS.has(field) && field !== 'max_tokens' && field !== 'max_completion_tokens';
}

const outputLimitField = readText(
  'the name of a request field such as max_tokens or max_completion_tokens, and none that means something else',
  (text) => (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(text) && !hasOtherMeaning(text) ? text : undefined),
);

const urlSuchAs = (example: string) =>
  `an http or https URL such as ${example}, without credentials, query and fragment`;
const baseUrl = readText(urlSuchAs('https://api.openai.com/v1'), parseBaseUrl);
const apiUrl = readText(urlSuchAs('https://api.example.com/v1'), parseUrlPrefix);

export const PROVIDER = section({
  api: oneOf(PROVIDER_APIS).prefault('chat'),
  base_url: baseUrl.optional(),
  endpoints: list(baseUrl, 1, MAX_ENDPOINTS, 'URLs such as http://vllm-0:8000/v1').optional(),
  endpoint_picker: endpointPicker.optional(),
  health_check: healthCheck.optional(),
  api_key: matching(
    /^[\x21-\x7e]{1,4096}$/,
    '1 to 4096 visible ASCII characters without spaces; "Bearer" is put before it',
  ).optional(),
  query: query.optional(),
  auth: auth.optional(),
  headers: headers.optional(),
  output_limit_field: outputLimitField.prefault('max_tokens'),
  stream_options: flag.prefault(true),
  request: requestShaping.optional(),
  extra_fields: extraFields.prefault([]),
  on_disconnect: oneOf(['abort', 'drain']).optional(),
  bill_prompt_on_disconnect: flag.prefault(true),
  send_traceparent: flag.prefault(false),
  anthropic_version: matching(/^\d{4}-\d{2}-\d{2}$/, 'a version of the Messages API such as 2023-06-01').optional(),
  reasoning_memory: oneOf(['reasoning_content', 'extra_content']).optional(),
});

const EFFORT = 'a level such as low, medium or high: 1 to 32 of a-z, 0-9, "_" and "-"';
const effort = matching(/^[a-z0-9_-]{1,32}$/, EFFORT);

/** Anthropic refuses a smaller budget. */
const LEAST_BUDGET_TOKENS = 1024;

const target = section({
  provider: providerName,
  model: matching(/^[\x21-\x7e]{1,256}$/, "the provider's name for the model: 1 to 256 visible ASCII characters"),
  weight: whole(1, 1000).optional(),
  api: oneOf(PROVIDER_APIS).optional(),
  reasoning_budgets: named(effort, whole(LEAST_BUDGET_TOKENS, MAX_TOKENS), EFFORT).optional(),
  cost_usd_per_million_tokens: priceSchedule.optional(),
  request: requestShaping.optional(),
});

export const MODEL = section({
  capabilities: list(
    oneOf(['tools', 'vision', 'json_mode', 'files', 'embeddings']),
    0,
    4,
    'of tools, vision, json_mode, files, embeddings',
  ).prefault([]),
  reasoning_efforts: list(effort, 0, 16, 'levels such as low, medium, high').prefault([]),
  context_window: whole(1, MAX_TOKENS),
  longest_prompt: whole(1, MAX_TOKENS).optional(),
  max_output_tokens: whole(1, MAX_TOKENS),
  default_output_tokens: whole(1, MAX_TOKENS).optional(),
  usd_per_million_tokens: priceSchedule,
  tokenizer: oneOf(['o200k_base', 'cl100k_base', 'bytes']).prefault('bytes'),
  timeouts: modelTimeouts.prefault({}),
  targets: list(target, 1, 16, 'targets such as {provider: openai, model: gpt-6-luna}'),
  disabled: flag.prefault(false),
});

/** APIs besides chat completions. Each is off by default. */
const apis = section({
  responses: flag.prefault(false),
  messages: flag.prefault(false),
  embeddings: flag.prefault(false),
} satisfies Record<DoorApi, unknown>).prefault({});

export const CONFIG_FILE = section({
  listen: listen.prefault({}),
  trusted_proxies: list(cidr, 0, 1000, 'address ranges').prefault([]),
  stores: stores.prefault({}),
  workers: whole(1, 64).prefault(1),
  limits: limits.prefault({}),
  timeouts: timeouts.prefault({}),
  retries: section({ per_target: whole(0, 10).prefault(1) }).prefault({}),
  charges: section({ durable_in: oneOf(['log', 'database']).prefault('log') }).prefault({}),
  idempotency: section({
    retention: duration(SECOND_MS, 30 * DAY_MS).prefault('24h'),
    bytes_per_organization: size(KIB, MAX_STORED_BYTES).prefault('1GiB'),
  }).prefault({}),
  request_log: section({ retention: duration(DAY_MS, 366 * DAY_MS).prefault('30d') }).prefault({}),
  top_up_url: publicUrl.optional(),
  dashboard: section({
    url: siteUrl.optional(),
    api_url: apiUrl.optional(),
    playground_url: apiUrl.optional(),
    brand: brand.prefault({}),
    session: section({
      idle: duration(SECOND_MS, 366 * DAY_MS).prefault('7d'),
      absolute: duration(SECOND_MS, 366 * DAY_MS).prefault('30d'),
      fresh_password: duration(SECOND_MS, DAY_MS).prefault('10m'),
    }).prefault({}),
  }).prefault({}),
  mail: mail.optional(),
  webhooks: webhooks.prefault({}),
  sign_in: signIn.optional(),
  payments: payments.optional(),
  tracing: tracing.optional(),
  demo: flag.prefault(false),
  apis,
  extra_request_fields: extraRequestFields.prefault({}),
  providers: named(providerName, PROVIDER, PROVIDER_NAME).prefault({}),
  models: named(modelId, MODEL, MODEL_ID).prefault({}),
  price_lists: priceLists.prefault({}),
});

export type ConfigFile = z.output<typeof CONFIG_FILE>;
export type ModelEntry = z.output<typeof MODEL>;
export type ProviderEntry = z.output<typeof PROVIDER>;
export type TargetEntry = ModelEntry['targets'][number];

/** Fields that embedding models may omit (embeddings-models.ts). */
const OF_OUTPUT: ReadonlySet<string> = new Set(['output', 'max_output_tokens']);

function withoutOutputs(schema: { required?: string[] }): void {
  if (schema.required) schema.required = schema.required.filter((name) => !OF_OUTPUT.has(name));
}

/** JSON Schema for editors. `npm run generate` writes it to config/gateway.schema.json. */
export function configJsonSchema(): object {
  return {
    ...z.toJSONSchema(CONFIG_FILE, { io: 'input', override: ({ jsonSchema }) => withoutOutputs(jsonSchema) }),
    title: 'Inference Gateway configuration',
  };
}
