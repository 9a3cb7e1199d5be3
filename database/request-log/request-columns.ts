import { idMoment } from '../../core/ids.ts';
import type { RequestDetail, RequestView } from '../../dashboard/contract/request-log.ts';

/** Columns of `request_log`. */
export const REQUEST_COLUMNS = `id, key_id, request_id, generation_id, route, model, provider, address, user_agent, status, code, streamed,
  replayed, client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, first_event_ms, duration_ms`;

/** With the name and the end of its key. */
export interface RequestRow {
  readonly id: string;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly key_last4: string | null;
  readonly request_id: string;
  readonly generation_id: string | null;
  readonly route: string;
  readonly model: string | null;
  readonly provider: string | null;
  readonly address: string;
  readonly user_agent: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly streamed: boolean;
  readonly replayed: boolean;
  readonly client_gone: boolean;
  readonly prompt_tokens: string | null;
  readonly completion_tokens: string | null;
  readonly cached_tokens: string | null;
  readonly reasoning_tokens: string | null;
  readonly cost_nano_usd: string | null;
  readonly first_event_ms: number | null;
  readonly duration_ms: number;
}

/** Cells of a row of the page's table. */
export function requestView(row: RequestRow): RequestView {
  return {
    id: row.id,
    atMs: idMoment(row.id),
    keyId: row.key_id,
    keyName: row.key_name ?? row.key_id,
    route: row.route,
    ...(row.model === null ? {} : { model: row.model }),
    status: row.status,
    ...(row.code === null ? {} : { code: row.code }),
    streamed: row.streamed,
    ...(row.prompt_tokens === null ? {} : { promptTokens: Number(row.prompt_tokens) }),
    ...(row.completion_tokens === null ? {} : { completionTokens: Number(row.completion_tokens) }),
    ...(row.cost_nano_usd === null ? {} : { costNanoUsd: row.cost_nano_usd }),
    ...(row.first_event_ms === null ? {} : { firstEventMs: row.first_event_ms }),
    durationMs: row.duration_ms,
  };
}

export function requestDetail(row: RequestRow): RequestDetail {
  return {
    ...requestView(row),
    ...(row.key_last4 === null ? {} : { keyLast4: row.key_last4 }),
    requestId: row.request_id,
    ...(row.generation_id === null ? {} : { generationId: row.generation_id }),
    address: row.address,
    ...(row.user_agent === null ? {} : { userAgent: row.user_agent }),
    ...(row.provider === null ? {} : { provider: row.provider }),
    replayed: row.replayed,
    clientGone: row.client_gone,
    ...(row.cached_tokens === null ? {} : { cachedTokens: Number(row.cached_tokens) }),
    ...(row.reasoning_tokens === null ? {} : { reasoningTokens: Number(row.reasoning_tokens) }),
  };
}
