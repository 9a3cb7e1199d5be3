import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { cutText } from '#core/cut-text.ts';
import { newId } from '#core/ids.ts';
import { withoutKeys } from '#core/key-secret.ts';
import { formatUsd, usdNumber } from '#core/money.ts';
import type { Principal } from '#core/principal.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import { checkKey } from '../access/authenticate.ts';
import { ONE_MODEL, type Route } from '../access/route.ts';
import { hasFailed } from '../telemetry/request-metrics.ts';
import type { RequestTrace } from '../telemetry/request-trace.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { RequestNotes } from './authorized-request.ts';

/** Facts about a request for its metrics, access line, request log row and span. */
export interface RequestOutcome {
  readonly startedMs: number;
  readonly arrivedAtMs: number;
  /** The configuration when the request arrived. */
  readonly config: GatewayConfig;
  /** The client's. */
  readonly address: string;
  readonly notes: RequestNotes;
  readonly trace: RequestTrace | undefined;
  route?: Route;
  /** Present even if the key is revoked or expired. */
  principal?: Principal;
  status: number;
  code?: string;
  /** The reason why a store was unavailable. */
  problem?: string;
}

/** The request's line in the process log, at most 8 KiB whatever a client sends. */
export function accessLine(exchange: Exchange, outcome: RequestOutcome, durationMs: number): object {
  const { route, principal, notes, status, code } = outcome;
  return {
    request_id: bounded(exchange.requestId),
    trace_id: outcome.trace?.traceId,
    route: route?.name,
    method: bounded(exchange.method, LONGEST_METHOD),
    status,
    code,
    problem: outcome.problem === undefined ? undefined : bounded(outcome.problem),
    address: outcome.address,
    organization: principal?.organization.id,
    key: principal?.key.id,
    model: notes.model === undefined ? undefined : bounded(notes.model),
    stream: notes.streamed,
    generation_id: notes.generationId,
    replayed: notes.replayed,
    attempts: notes.attempts?.slice(-MOST_ATTEMPTS),
    tokens_prompt: notes.usage?.promptTokens,
    tokens_completion: notes.usage?.completionTokens,
    cost_usd: notes.costNanoUsd === undefined ? undefined : formatUsd(notes.costNanoUsd),
    first_event_ms: notes.firstEventMs === undefined ? undefined : Math.round(notes.firstEventMs),
    duration_ms: Math.round(durationMs * 10) / 10,
    client_gone: notes.clientGone === true ? true : undefined,
  };
}

/** True if the request ended before a provider was called: refused, or its client left. */
export function isRefusedRequest({ code, status, notes }: RequestOutcome): boolean {
  return notes.generationId === undefined && (code !== undefined || status >= 400);
}

/** True if the key is revoked or expired, or its organization suspended. */
export function isUnusable({ principal, arrivedAtMs }: RequestOutcome): boolean {
  if (principal === undefined) return false;
  return principal.organization.suspended || checkKey(principal.key, arrivedAtMs) !== undefined;
}

const LONGEST_TEXT = 200;
const LONGEST_METHOD = 32;
const MOST_ATTEMPTS = 20;

/** Row for the request log. `undefined`: route or key is unknown, so no organization has it. */
export function requestLogRow(
  exchange: Exchange,
  outcome: RequestOutcome,
  durationMs: number,
): RequestLogRow | undefined {
  const { route, principal, notes } = outcome;
  if (route === undefined || principal === undefined) return undefined;
  return {
    id: newId('log', outcome.arrivedAtMs),
    arrivedAtMs: outcome.arrivedAtMs,
    organizationId: principal.organization.id,
    keyId: principal.key.id,
    requestId: bounded(exchange.requestId),
    generationId: notes.generationId,
    route: route.name,
    model: notes.model === undefined ? undefined : bounded(notes.model),
    modelKnown: notes.model !== undefined && outcome.config.models.has(notes.model),
    provider: notes.provider,
    address: outcome.address,
    userAgent: bounded(exchange.header('user-agent') ?? '') || undefined,
    status: outcome.status,
    code: outcome.code,
    streamed: notes.streamed === true,
    replayed: notes.replayed === true,
    clientGone: notes.clientGone === true,
    usage: notes.usage,
    costNanoUsd: notes.costNanoUsd,
    providerCostNanoUsd: notes.providerCostNanoUsd,
    firstEventMs: notes.firstEventMs,
    durationMs,
    user: notes.user,
    metadata: notes.metadata,
  };
}

/** Sets attributes of the request's span: fewer than its access line has, no client address. */
export function describeTrace({ root }: RequestTrace, exchange: Exchange, outcome: RequestOutcome): void {
  const { route, principal, notes, status, code } = outcome;
  // A path that is not a route is arbitrary text of the client, and so is the id of a model.
  const sent = exchange.path.split('?', 1)[0];
  const path = route?.model === undefined ? route && sent : ONE_MODEL;
  root.rename(path === undefined ? 'HTTP' : `${exchange.method} ${path}`);
  root.set('http.request.method', bounded(exchange.method, LONGEST_METHOD));
  root.set('http.route', path);
  root.set('http.response.status_code', status);
  root.set('request.id', bounded(exchange.requestId));
  root.set('gateway.organization.id', principal?.organization.id);
  root.set('gateway.generation.id', notes.generationId);
  root.set('gen_ai.request.model', notes.model === undefined ? undefined : bounded(notes.model));
  if (notes.costNanoUsd !== undefined) root.set('gateway.cost_usd', usdNumber(notes.costNanoUsd));
  if (code === undefined) return;
  // A fault of the caller is an attribute, but not a failed span.
  if (hasFailed({ status, code })) root.fail(code);
  else root.set('error.type', code);
}

/** Text of a client without API keys. */
function bounded(text: string, longest = LONGEST_TEXT): string {
  return withoutKeys(cutText(text, longest));
}
