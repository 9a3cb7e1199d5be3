import type { RequestView } from '#contract/request-log.ts';
import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import { formatCount } from '../../format/format.ts';

const ROUTES: Readonly<Record<string, string>> = {
  chat: 'POST /v1/chat/completions',
  responses: 'POST /v1/responses',
  messages: 'POST /v1/messages',
  count_tokens: 'POST /v1/messages/count_tokens',
  embeddings: 'POST /v1/embeddings',
  models: 'GET /v1/models',
  credits: 'GET /v1/credits',
  generation: 'GET /v1/generation',
  usage: 'GET /v1/usage',
};

export function routeLabel(route: string): string {
  return ROUTES[route] ?? route;
}

/** A response that began with status 200 and broke off. It has a code and counts as failed. */
export function isBroken({ status, code }: Pick<RequestView, 'status' | 'code'>): boolean {
  return code !== undefined && status < 400;
}

export function statusTone(request: Pick<RequestView, 'status' | 'code'>): 'neutral' | 'good' | 'warn' | 'bad' {
  const { status, code } = request;
  if (status === CLIENT_GONE_STATUS && code === undefined) return 'neutral';
  if (status >= 500 || isBroken(request)) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

export function statusLabel({ status, code }: Pick<RequestView, 'status' | 'code'>): string {
  if (code !== undefined) return `${status}${isBroken({ status, code }) ? ', broken by' : ''} ${code}`;
  return status === CLIENT_GONE_STATUS ? `${status} client left` : String(status);
}

/** `1,204 → 356` */
export function tokenLabel({ promptTokens, completionTokens }: RequestView): string | undefined {
  if (promptTokens === undefined && completionTokens === undefined) return undefined;
  return `${formatCount(promptTokens ?? 0)} → ${formatCount(completionTokens ?? 0)}`;
}
