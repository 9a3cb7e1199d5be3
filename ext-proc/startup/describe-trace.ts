import { usdNumber } from '../../core/money.ts';
import { hasFailed } from '../process-reports/process-report-activity.ts';
import type { RequestRecord } from '../request-log/request-record.ts';
import type { RequestTrace } from '../tracing/request-trace.ts';
import type { Exchange } from '../transport/exchange.ts';

/** Attributes of the whole request's span: fewer than in its log line, which has the trace id, and nothing about the caller. */
export function describeTrace({ root }: RequestTrace, exchange: Exchange, record: RequestRecord): void {
  const { route, principal, notes, status, code } = record;
  // A path that is no route is the client's own text.
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
  // The caller's own faults are recorded, but are no failure of the gateway.
  if (hasFailed({ status, code })) root.fail(code);
  else root.set('error.type', code);
}
