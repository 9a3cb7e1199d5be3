import type { Stripe } from 'stripe';
import type { StripeConfig } from '#core/config/dashboard-config.ts';

export type StripeClient = Stripe;

/** Stripe usually responds within a second. */
const TIMEOUT_MS = 8_000;
/**
 * A retry carries the idempotency key of the first request. Two would end after the 20 s for which
 * a page waits.
 */
const RETRIES = 1;

const HTTP_CONFLICT = 409;

let latest: { readonly config: StripeConfig; readonly client: Promise<StripeClient> } | undefined;

/**
 * The client for this configuration. A reload creates another one. The library is loaded with the
 * first, because it needs 4.5 MB of memory and payments are usually off.
 */
export function stripeClient(config: StripeConfig): Promise<StripeClient> {
  if (latest?.config !== config) latest = { config, client: createStripeClient(config) };
  return latest.client;
}

export async function createStripeClient(
  { secretKey, apiBase }: StripeConfig,
  timeoutMs = TIMEOUT_MS,
): Promise<StripeClient> {
  const { Stripe } = await import('stripe');
  const protocol = apiBase.protocol === 'http:' ? 'http' : 'https';
  return new Stripe(secretKey, {
    host: apiBase.hostname,
    port: apiBase.port === '' ? (protocol === 'http' ? 80 : 443) : apiBase.port,
    protocol,
    timeout: timeoutMs,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    httpClient: guarded(Stripe.createNodeHttpClient(), secretKey, (work) =>
      inTime(work, timeoutMs, () => Stripe.HttpClient.makeTimeoutError()),
    ),
  });
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;

/**
 * Removes the API key from responses, because Stripe's errors may quote it and would be logged.
 * Adds a deadline for each step, because the library's own time limit begins only once there is a
 * connection.
 */
function guarded(client: HttpClient, secret: string, inTime: <T>(work: Promise<T>) => Promise<T>): HttpClient {
  const makeRequest = client.makeRequest.bind(client);
  client.makeRequest = async (...request) => {
    const response = await inTime(makeRequest(...request));
    const read = response.toJSON.bind(response);
    response.toJSON = async () => JSON.parse(JSON.stringify(await inTime(read())).replaceAll(secret, '[secret key]'));
    return response;
  };
  return client;
}

async function inTime<T>(work: Promise<T>, timeoutMs: number, timeoutError: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timeoutError()), timeoutMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

type StripeErrorKind =
  `Stripe${'Connection' | 'API' | 'RateLimit' | 'Card' | 'InvalidRequest' | 'Idempotency' | 'Authentication' | 'Permission'}Error`;

const AWAY: readonly StripeErrorKind[] = ['StripeConnectionError', 'StripeAPIError', 'StripeRateLimitError'];

/** True for an error of Stripe's library. `kinds`: only of these kinds. */
export function isStripeError(
  error: unknown,
  kinds?: readonly StripeErrorKind[],
): error is InstanceType<typeof Stripe.errors.StripeError> {
  if (!(error instanceof Error && 'type' in error && typeof error.type === 'string')) return false;
  const { type } = error;
  return kinds === undefined ? type.startsWith('Stripe') : kinds.some((kind) => kind === type);
}

/** True if Stripe does not respond, or not now. The same call may succeed later. */
export function isStripeAway(error: unknown): boolean {
  // Conflict: another process is using the same idempotency key.
  return isStripeError(error, AWAY) || (isStripeError(error) && error.statusCode === HTTP_CONFLICT);
}

/** True if Stripe has no such object. It may belong to another account or mode. */
export function isMissingAtStripe(error: unknown): boolean {
  return isStripeError(error, ['StripeInvalidRequestError']) && error.code === 'resource_missing';
}
