import type { RequestDetail, RequestView } from '#contract/request-log.ts';
import { isApi } from '#core/config/apis.ts';
import { idMoment } from '#core/ids.ts';
import { present } from '#core/present.ts';

/** A row of the log for a page, with the name and last characters of its key. */
export interface RequestRow extends Omit<RequestDetail, 'atMs' | 'api' | 'metadata' | keyof RequestRecords> {
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What other tables have about a request. */
export type RequestRecords = Pick<RequestDetail, 'charge' | 'unchargedAttempts'>;

/** SQL of a request `p` and key `k` by field. A field without a column does not compile. */
const COLUMNS: Readonly<Record<Exclude<keyof RequestRow, 'organizationId' | 'organizationName'>, string>> = {
  id: 'p.id',
  keyId: 'p.key_id',
  keyName: 'coalesce(k.name, p.key_id)',
  keyLast4: 'k.last4',
  requestId: 'p.request_id',
  generationId: 'p.generation_id',
  route: 'p.route',
  model: 'p.model',
  provider: 'p.provider',
  address: 'p.address',
  userAgent: 'p.user_agent',
  status: 'p.status',
  code: 'p.code',
  streamed: 'p.streamed',
  replayed: 'p.replayed',
  clientGone: 'p.client_gone',
  promptTokens: 'p.prompt_tokens::float8',
  completionTokens: 'p.completion_tokens::float8',
  cachedTokens: 'p.cached_tokens::float8',
  reasoningTokens: 'p.reasoning_tokens::float8',
  costNanoUsd: 'p.cost_nano_usd',
  firstEventMs: 'p.first_event_ms',
  durationMs: 'p.duration_ms',
  user: 'p.end_user',
  metadata: 'p.metadata',
};
export const REQUEST_COLUMNS = Object.entries(COLUMNS)
  .map(([name, column]) => `${column} as "${name}"`)
  .join(', ');

export function requestView(row: RequestRow): RequestView {
  const { keyLast4: _, requestId: _id, generationId: _generation, userAgent: _agent, ...shown } = row;
  const { replayed: _replayed, clientGone: _gone, reasoningTokens: _tokens, metadata: _metadata, ...view } = shown;
  return { ...view, atMs: idMoment(row.id), ...present({ api: isApi(row.route) ? row.route : undefined }) };
}

export function requestDetail({ metadata, ...row }: RequestRow, others: RequestRecords = {}): RequestDetail {
  const more = {
    api: isApi(row.route) ? row.route : undefined,
    metadata: metadata && JSON.stringify(metadata),
  };
  return { ...row, ...others, atMs: idMoment(row.id), ...present(more) };
}
