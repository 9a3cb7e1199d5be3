import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import { newId } from '../../core/ids.ts';
import { formatUsd } from '../../core/money.ts';
import type { Principal } from '../../core/principal.ts';
import type { RequestLogEntry } from '../../database/request-log/request-log.ts';
import { checkKey } from '../access/authenticate.ts';
import type { Route } from '../access/route.ts';
import type { CallNotes } from '../endpoints/call.ts';
import type { RequestTrace } from '../tracing/request-trace.ts';
import type { Exchange } from '../transport/exchange.ts';

/** What a request's metrics, its line in the process's log and its line in the request log are made of. */
export interface RequestRecord {
  readonly startedMs: number;
  readonly arrivedAtMs: number;
  /** In force when it arrived. */
  readonly config: GatewayConfig;
  readonly notes: CallNotes;
  readonly trace: RequestTrace | undefined;
  route?: Route;
  /** Whose key it is, also where the key is not good any more. */
  principal?: Principal;
  address?: string;
  status: number;
  code?: string;
  /** Why a store could not answer. */
  problem?: string;
}

/** No line is longer than 8 KiB, whatever a client sends. */
export function logLine(exchange: Exchange, record: RequestRecord, durationMs: number): object {
  const { route, principal, notes, status, code } = record;
  return {
    request_id: bounded(exchange.requestId),
    trace_id: record.trace?.traceId,
    route: route?.name,
    method: bounded(exchange.method, LONGEST_METHOD),
    status,
    code,
    problem: record.problem === undefined ? undefined : bounded(record.problem),
    address: record.address,
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
    first_event_ms: notes.timeToFirstEventMs === undefined ? undefined : Math.round(notes.timeToFirstEventMs),
    duration_ms: Math.round(durationMs * 10) / 10,
    client_gone: notes.clientGone === true ? true : undefined,
  };
}

/** Cost its sender nothing: refused before a provider was asked, or left before there was an answer. */
export function isFree({ code, status, notes }: RequestRecord): boolean {
  return notes.generationId === undefined && (code !== undefined || status >= 400);
}

/** Its key is revoked or expired, or its organization suspended. */
export function isUnusable({ principal, arrivedAtMs }: RequestRecord): boolean {
  if (principal === undefined) return false;
  return principal.organization.suspended || checkKey(principal.key, arrivedAtMs) !== undefined;
}

const LONGEST_TEXT = 200;
const LONGEST_METHOD = 32;
const MOST_ATTEMPTS = 20;

/** `undefined`: nobody's log has a place for it, because its route or key is unknown. */
export function requestLogEntry(
  exchange: Exchange,
  record: RequestRecord,
  durationMs: number,
): RequestLogEntry | undefined {
  const { route, principal, notes } = record;
  if (route === undefined || principal === undefined) return undefined;
  return {
    id: newId('log', record.arrivedAtMs),
    arrivedAtMs: record.arrivedAtMs,
    organizationId: principal.organization.id,
    keyId: principal.key.id,
    requestId: bounded(exchange.requestId),
    generationId: notes.generationId,
    route: route.name,
    model: notes.model === undefined ? undefined : bounded(notes.model),
    modelKnown: notes.model !== undefined && record.config.models.has(notes.model),
    provider: notes.provider,
    address: record.address ?? '',
    userAgent: bounded(exchange.header('user-agent') ?? '') || undefined,
    status: record.status,
    code: record.code,
    streamed: notes.streamed === true,
    replayed: notes.replayed === true,
    clientGone: notes.clientGone === true,
    usage: notes.usage,
    costNanoUsd: notes.costNanoUsd,
    firstEventMs: notes.timeToFirstEventMs,
    durationMs,
  };
}

/** A copy where it is cut: a slice would keep the whole text in memory for as long as the line waits. */
function bounded(text: string, longest = LONGEST_TEXT): string {
  return text.length <= longest ? text : Buffer.from(text.slice(0, longest)).toString();
}
