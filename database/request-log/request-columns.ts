import type { ChargeView, RequestDetail, RequestView } from '#contract/request-log.ts';
import { idMoment } from '#core/ids.ts';
import { present } from '#core/present.ts';

/**
 * The columns of `request_log` that a page shows. A field of the row without a column does not
 * compile.
 */
const COLUMNS: Readonly<Record<Exclude<keyof RequestRow, 'key_name' | 'key_last4' | 'organization_name'>, true>> = {
  id: true,
  organization_id: true,
  key_id: true,
  request_id: true,
  generation_id: true,
  route: true,
  model: true,
  provider: true,
  address: true,
  user_agent: true,
  status: true,
  code: true,
  streamed: true,
  replayed: true,
  client_gone: true,
  prompt_tokens: true,
  completion_tokens: true,
  cached_tokens: true,
  reasoning_tokens: true,
  cost_nano_usd: true,
  first_event_ms: true,
  duration_ms: true,
  end_user: true,
  metadata: true,
};
export const REQUEST_COLUMNS = Object.keys(COLUMNS).join(', ');

/** A row with the name and the last characters of its key. */
export interface RequestRow {
  readonly id: string;
  readonly organization_id: string;
  /** Absent within one organization. */
  readonly organization_name?: string | null;
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
  readonly end_user: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** Requires a value for every field of a view: a forgotten one does not compile. */
type Complete<View> = { readonly [Field in keyof Required<View>]: View[Field] };

/** The row as the table of requests shows it. */
export function requestView(row: RequestRow): RequestView {
  return present(viewOf(row));
}

export function requestDetail(row: RequestRow, charge?: ChargeView): RequestDetail {
  const detail: Complete<RequestDetail> = {
    ...viewOf(row),
    keyLast4: row.key_last4 ?? undefined,
    requestId: row.request_id,
    generationId: row.generation_id ?? undefined,
    userAgent: row.user_agent ?? undefined,
    replayed: row.replayed,
    clientGone: row.client_gone,
    reasoningTokens: numberOf(row.reasoning_tokens),
    metadata: row.metadata === null ? undefined : JSON.stringify(row.metadata),
    charge,
  };
  return present(detail);
}

function viewOf(row: RequestRow): Complete<RequestView> {
  return {
    id: row.id,
    atMs: idMoment(row.id),
    keyId: row.key_id,
    keyName: row.key_name ?? row.key_id,
    route: row.route,
    model: row.model ?? undefined,
    status: row.status,
    code: row.code ?? undefined,
    streamed: row.streamed,
    promptTokens: numberOf(row.prompt_tokens),
    completionTokens: numberOf(row.completion_tokens),
    costNanoUsd: row.cost_nano_usd ?? undefined,
    firstEventMs: row.first_event_ms ?? undefined,
    durationMs: row.duration_ms,
    address: row.address,
    user: row.end_user ?? undefined,
    provider: row.provider ?? undefined,
    cachedTokens: numberOf(row.cached_tokens),
    organizationId: row.organization_name === undefined ? undefined : row.organization_id,
    organizationName: row.organization_name ?? undefined,
  };
}

function numberOf(text: string | null): number | undefined {
  return text === null ? undefined : Number(text);
}
