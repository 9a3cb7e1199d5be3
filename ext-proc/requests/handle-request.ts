import { utcDay } from '#core/clock.ts';
import { isApi } from '#core/config/apis.ts';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { configAt } from '#core/config/prices-in-force.ts';
import type { TracingConfig } from '#core/config/tracing.ts';
import { isRefusal, type Refusal, refuse, statusOf } from '#core/errors/refusal.ts';
import type { Log } from '#core/log/log.ts';
import { clientAddress } from '#core/net/client-address.ts';
import { inRanges } from '#core/net/ip-ranges.ts';
import type { Principal } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { authenticate, checkKey } from '../access/authenticate.ts';
import { authorizeCaller } from '../access/authorize.ts';
import { doorApiOfRoute, findRoute, type Route } from '../access/route.ts';
import type { Door } from '../doors/door.ts';
import { doorOf } from '../doors/reading/doors.ts';
import { headersAtDoor, renderAtDoor } from '../doors/refusal-at-door.ts';
import type { LedgerReads } from '../fairness/reads-in-turns.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Exchange, ExchangeHandler } from '../transport/exchange.ts';
import { type AuthorizedRequest, type EndpointResult, tooManyAtOnce } from './authorized-request.ts';
import { type CompletionDeps, complete } from './complete.ts';
import { countTokens } from './count-tokens.ts';
import { showCredits } from './credits.ts';
import { showGeneration } from './generation.ts';
import type { RequestLogs } from './log/open-request-logs.ts';
import { showModels } from './models.ts';
import { readBody } from './read-sent.ts';
import { COUNTED_STATUSES, createRefusedRequests, type RefusedRequests } from './refused-requests.ts';
import {
  accessLine,
  describeTrace,
  isRefusedRequest,
  isUnusable,
  type RequestOutcome,
  requestLogRow,
} from './request-outcome.ts';
import { secondsUntil } from './seconds-until.ts';
import { type NoteUnknownList, noteUnknownLists } from './unknown-price-lists.ts';
import { showUsage } from './usage.ts';

export interface RequestHandlerDeps extends CompletionDeps {
  readonly ledger: LedgerReads;
  readonly log: Log;
  readonly requestLog: Pick<RequestLogs['requestLog'], 'add' | 'addRefused'>;
  readonly tracing: Tracing;
  /** The configuration in force now. A request keeps the one it began with. */
  readonly config: () => GatewayConfig;
  /** True for the readiness probe of a gateway process, which gets no access line. */
  readonly isProbe: (authorization: string | undefined) => boolean;
}

interface Parts extends RequestHandlerDeps {
  readonly refused: RefusedRequests;
  readonly noteUnknownList: NoteUnknownList;
}

/**
 * The steps of one request, in order (docs/life-of-a-request.md): route, authenticate, authorize,
 * endpoint, response, access line, row of the request log.
 */
export function createRequestHandler(given: RequestHandlerDeps): ExchangeHandler {
  const refused = createRefusedRequests(given.limits);
  const deps: Parts = { ...given, refused, noteUnknownList: noteUnknownLists(given) };
  return async (exchange) => {
    const config = deps.config();
    const probe = deps.isProbe(exchange.header('authorization'));
    const outcome: RequestOutcome = {
      startedMs: deps.clock.monotonicMs(),
      arrivedAtMs: deps.clock.nowMs(),
      config,
      address: clientAddress(exchange.peerAddress, exchange.header('x-forwarded-for'), config.trustedProxies),
      notes: {},
      trace: config.tracing === undefined || probe ? undefined : beginTrace(deps, exchange, config, config.tracing),
      status: 500,
    };
    deps.metrics.requestStarted(probe);
    try {
      const result = await decide(deps, exchange, outcome);
      outcome.trace?.decided(isRefusal(result) ? result.code : undefined);
      await respond(exchange, result, outcome);
    } catch (error) {
      // Exceptions are bugs. They are recorded here, and the transport responds.
      outcome.status = 500;
      outcome.code = 'internal_error';
      outcome.trace?.decided('internal_error');
      const { requestId: request_id } = exchange;
      deps.log.error({ err: error, request_id, trace_id: outcome.trace?.traceId }, 'a request failed on our side');
      throw error;
    } finally {
      finish(deps, exchange, outcome, probe);
    }
  };
}

function beginTrace(
  { tracing }: RequestHandlerDeps,
  exchange: Exchange,
  config: GatewayConfig,
  settings: TracingConfig,
) {
  const isTrusted = () => inRanges(exchange.peerAddress, config.trustedProxies);
  return tracing.begin({ header: (name) => exchange.header(name), isTrusted }, settings);
}

async function decide(deps: Parts, exchange: Exchange, outcome: RequestOutcome): Promise<EndpointResult> {
  try {
    const request = await authorize(deps, exchange, outcome);
    if (isRefusal(request)) return request;
    const result = await serve(deps, request);
    return isRefusal(result) ? (countRefusal(deps, request, result) ?? result) : result;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    // Logged in the request's own line: while a store is unavailable every request fails alike, and
    // a stack for each would flood the log.
    outcome.problem = error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
    return refuse('no_capacity');
  }
}

/** Decides by the headers alone: a caller without rights is refused before its body is read. */
async function authorize(
  deps: Parts,
  exchange: Exchange,
  outcome: RequestOutcome,
): Promise<AuthorizedRequest | Refusal> {
  const { config, arrivedAtMs, address } = outcome;
  const route = findRoute(exchange.method, exchange.path, config.apis);
  if (isRefusal(route)) return route;
  outcome.route = route;
  outcome.trace?.step('authenticate');
  const principal = await authenticate(exchange.header('authorization'), deps.keys, utcDay(arrivedAtMs));
  if (isRefusal(principal)) return principal;
  outcome.principal = principal;
  const { key, organization } = principal;
  const limit = config.limits.refusedRequestsPerMinute;
  const unusable = checkKey(key, arrivedAtMs);
  // Counted for the key alone: a stranger who found an old key must not lock out its organization.
  if (unusable) return noted(deps, deps.refused.take(key.id, limit, arrivedAtMs)) ?? unusable;
  const denied = authorizeCaller(principal, address, route);
  // In the order of checks this refusal precedes the limit, so it is sent even when the limit is
  // exceeded.
  if (denied) deps.refused.take(organization.id, limit, arrivedAtMs);
  const refusal = denied ?? noted(deps, deps.refused.check(organization.id, limit, arrivedAtMs));
  if (refusal) return refusal;
  const { notes, trace } = outcome;
  const takeOneRead = () => takeRead(deps, principal, config);
  deps.noteUnknownList(organization, config);
  const inForce = configAt(config, arrivedAtMs, organization.priceList);
  return { exchange, route, principal, config: inForce, arrivedAtMs, notes, trace, takeRead: takeOneRead };
}

/** Counts a refusal. Beyond the limit, returns another one to be sent instead. */
function countRefusal(deps: Parts, { principal, config }: AuthorizedRequest, refusal: Refusal): Refusal | undefined {
  if (!COUNTED_STATUSES.has(statusOf(refusal))) return undefined;
  const limit = config.limits.refusedRequestsPerMinute;
  return noted(deps, deps.refused.take(principal.organization.id, limit, deps.clock.nowMs()));
}

function noted({ metrics }: Parts, beyond: Refusal | undefined): Refusal | undefined {
  if (beyond) metrics.admissionRefused('refused');
  return beyond;
}

function serve(deps: RequestHandlerDeps, request: AuthorizedRequest): EndpointResult | Promise<EndpointResult> {
  const { name } = request.route;
  if (isApi(name)) return complete(deps, request, doorOf(name));
  if (name === 'count_tokens') return countTokens(deps, request);
  return answerRead(deps, request, name);
}

/**
 * Bounds for the body of a read, which no SDK sends. Other uploads of the organization are left for
 * completions, and a key that is revoked meanwhile can read for at most ten seconds more.
 */
const BODY_OF_READ = { mostUploads: 16, totalMs: 10_000 };

/** Serves a read. Its body is received for the size limit, which all requests have, and dropped. */
async function answerRead(
  deps: RequestHandlerDeps,
  request: AuthorizedRequest,
  name: 'models' | 'credits' | 'generation' | 'usage',
): Promise<EndpointResult> {
  request.trace?.step('read');
  const body = await readBody(deps, request, BODY_OF_READ);
  if (!Buffer.isBuffer(body)) return body;
  request.exchange.bodyMemory.release();
  switch (name) {
    case 'models':
      return showModels(request);
    case 'credits':
      return showCredits(request, deps);
    case 'generation':
      return showGeneration(request, deps);
    case 'usage':
      return showUsage(request, deps);
  }
}

/** Applies `read_rpm`: reads cost the caller no money, but each is a query. */
async function takeRead(deps: RequestHandlerDeps, principal: Principal, config: GatewayConfig) {
  const { limits, clock } = deps;
  if (deps.turns.ledger.isCrowded({ organizationId: principal.organization.id })) return tooManyAtOnce(deps);
  const nowMs = clock.nowMs();
  const read = await limits.takeRead(principal.key.id, config.limits.readRequestsPerMinute, nowMs);
  if (read.allowed) return undefined;
  const retryAfterSeconds = secondsUntil(read.resetsAtMs, nowMs);
  return refuse('rpm_exceeded', { problem: 'Too many reads in this minute.' }, { retryAfterSeconds });
}

/** The door of a route. `undefined`: chat completions, a read, or no route. */
function doorFor(route: Route | undefined): Door | undefined {
  const api = route && doorApiOfRoute(route.name);
  return api && doorOf(api);
}

/** `undefined`: the endpoint has responded. */
function respond(exchange: Exchange, result: EndpointResult, outcome: RequestOutcome): Promise<void> | undefined {
  const door = doorFor(outcome.route);
  switch (result.kind) {
    case 'refusal': {
      const rendered = renderAtDoor(result, door, exchange.requestId);
      outcome.status = rendered.status;
      outcome.code = result.code;
      return exchange.respond(rendered);
    }
    case 'json':
      outcome.status = 200;
      return exchange.respond({
        status: 200,
        headers: { ...headersAtDoor(door, exchange.requestId), 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(result.body)),
      });
    case 'responded':
      outcome.status = result.status;
      if (result.refusal) outcome.code = result.refusal.code;
      return undefined;
  }
}

function finish(
  { metrics, log, requestLog, clock, tracing }: RequestHandlerDeps,
  exchange: Exchange,
  outcome: RequestOutcome,
  probe: boolean,
): void {
  const { route, status, code, trace } = outcome;
  const durationMs = clock.monotonicMs() - outcome.startedMs;
  metrics.requestEnded({ route: route?.name ?? 'none', status, code: code ?? '', durationMs, probe });
  if (probe) return;
  if (trace !== undefined) {
    describeTrace(trace, exchange, outcome);
    tracing.end(trace);
  }
  const row = requestLogRow(exchange, outcome, durationMs);
  const isRefused = isRefusedRequest(outcome);
  // Beyond its quota a refused request is only counted: no row, no access line.
  if (isRefused && !requestLog.addRefused(row, isUnusable(outcome))) return;
  log.info(accessLine(exchange, outcome, durationMs), 'request');
  if (row && !isRefused) requestLog.add(row);
}
