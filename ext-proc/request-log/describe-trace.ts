import { usdNumber } from '../../core/money.ts';
import { hasFailed } from '../telemetry/request-metrics.ts';
import type { RequestTrace } from '../tracing/request-trace.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { RequestOutcome } from './request-outcome.ts';

/**
 * Sets the attributes of the request's span: fewer than its access line has, and nothing about the
 * caller's address.
 */
export function describeTrace({ root }: RequestTrace, exchange: Exchange, outcome: RequestOutcome): void {
  const { route, principal, notes, status, code } = outcome;
  // A path that is not a route is text of the client.
  const path = route === undefined ? undefined : exchange.path.split('?', 1)[0];
  root.rename(path === undefined ? 'HTTP' : `${exchange.method} ${path}`);
  root.set('http.request.method', exchange.method);
  root.set('http.route', path);
  root.set('http.response.status_code', status);
  root.set('request.id', exchange.requestId);
  root.set('gateway.organization.id', principal?.organization.id);
  root.set('gateway.generation.id', notes.generationId);
  root.set('gen_ai.request.model', notes.model);
  if (notes.costNanoUsd !== undefined) root.set('gateway.cost_usd', usdNumber(notes.costNanoUsd));
  if (code === undefined) return;
  // A fault of the caller is an attribute, but not a failed span.
  if (hasFailed({ status, code })) root.fail(code);
  else root.set('error.type', code);
}
