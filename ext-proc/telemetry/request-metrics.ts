import { ERROR_CODES } from '#core/errors/error-codes.ts';
import type { RouteName } from '../access/route.ts';
import type { AccountErrorKind, Attempt } from '../hold/attempt.ts';
import type { MetricSet } from './metric-set.ts';

export interface EndedRequest {
  readonly route: RouteName | 'none';
  readonly status: number;
  readonly code: string;
  readonly durationMs: number;
  readonly probe: boolean;
}

/** Every route, so that the first failure of each is an increase of its counter. */
const ROUTES = Object.keys({
  ...{ chat: 0, responses: 0, messages: 0, embeddings: 0, count_tokens: 0 },
  ...{ models: 0, credits: 0, generation: 0, usage: 0, none: 0 },
} satisfies Readonly<Record<EndedRequest['route'], 0>>);

const ACCOUNT_ERROR_KINDS: readonly AccountErrorKind[] = ['credentials', 'funds'];

/** From a refusal to the longest usual `timeouts.total`. */
const DURATION_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

export function createRequestMetrics(metrics: MetricSet) {
  const requests = metrics.counter(
    'gateway_requests_total',
    'Requests that have ended, by route, HTTP status and error code (empty: no error). A broken stream has status 200 and a code. Status 499: the client left.',
    { route: ROUTES, status: ['500'], code: ['internal_error'] },
  );
  const duration = metrics.histogram(
    'gateway_request_duration_seconds',
    'From the request headers to the end of the response.',
    DURATION_BUCKETS_S,
    ['route'],
  );
  let inFlight = 0;
  metrics.read('gateway_requests_in_flight', 'Requests in progress.', () => inFlight);
  return {
    /** `probe`: a readiness probe, which is counted in no metric. */
    requestStarted(probe: boolean) {
      if (!probe) inFlight++;
    },
    requestEnded({ route, status, code, durationMs, probe }: EndedRequest) {
      if (probe) return;
      inFlight--;
      requests.inc({ route, status, code });
      duration.observe({ route }, durationMs / 1000);
    },
    ...streamMetrics(metrics),
    attempts: attemptMetrics(metrics),
  };
}

function streamMetrics(metrics: MetricSet) {
  const firstEvent = metrics.histogram(
    'gateway_time_to_first_event_seconds',
    'From the admission of a streamed completion to its first event, including failed attempts.',
    DURATION_BUCKETS_S,
  );
  const streams = metrics.gauge('gateway_streams_in_flight', 'Admitted streamed completions in progress.');
  return {
    streamStarted: () => streams.inc(),
    /** `firstEventMs`: absent when the stream had no event. */
    streamEnded(firstEventMs: number | undefined) {
      streams.dec();
      if (firstEventMs !== undefined) firstEvent.observe(firstEventMs / 1000);
    },
  };
}

function attemptMetrics(metrics: MetricSet) {
  const attempts = metrics.counter('gateway_upstream_attempts_total', 'Provider calls, by provider and result.', {
    provider: [],
    result: [],
  });
  const total = metrics.histogram(
    'gateway_upstream_duration_seconds',
    'From the call of a provider to the end of its response, or to its failure.',
    DURATION_BUCKETS_S,
    ['provider'],
  );
  const first = metrics.histogram(
    'gateway_upstream_time_to_first_event_seconds',
    'From the call of a provider to the first event of its stream, or to the headers of a JSON response.',
    DURATION_BUCKETS_S,
    ['provider'],
  );
  const account = metrics.counter(
    'gateway_provider_account_errors_total',
    "Provider calls that failed because of the operator's account at the provider, by kind: credentials (key, permission, organization, project), funds (balance, billing, quota).",
    { provider: [], kind: [] },
  );
  const shown = new Set<string>();
  return (list: readonly Attempt[]) => {
    for (const { provider, result, account: kind, durationMs, firstEventAfterCallMs } of list) {
      attempts.inc({ provider, result });
      if (!shown.has(provider)) {
        // `increase` does not see a series that begins with its first failure.
        shown.add(provider);
        for (const one of ACCOUNT_ERROR_KINDS) account.inc({ provider, kind: one }, 0);
      }
      if (kind !== undefined) account.inc({ provider, kind });
      if (durationMs !== undefined) total.observe({ provider }, durationMs / 1000);
      if (firstEventAfterCallMs !== undefined) first.observe({ provider }, firstEventAfterCallMs / 1000);
    }
  };
}

/**
 * The gateway or a provider owed a response, or the end of one: not a refusal, nor a client that
 * left (499). A stream has status 200, and its code decides.
 */
export function hasFailed({ status, code }: Pick<EndedRequest, 'status' | 'code'>): boolean {
  const decisive = status === 200 && code !== '' ? STATUS_BY_CODE.get(code) : status;
  return decisive === undefined || decisive >= 500 || decisive === 408;
}

const STATUS_BY_CODE: ReadonlyMap<string, number> = new Map(
  Object.entries(ERROR_CODES).map(([code, entry]) => [code, entry.status]),
);
