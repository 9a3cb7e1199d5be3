import type { Provider, Target } from '../config/gateway-config.ts';
import { untracedHeaders } from '../tracing/request-trace.ts';
import type { Span } from '../tracing/span.ts';
import type { Order } from './delivery.ts';
import type { ProviderRequest } from './provider-call.ts';

/**
 * What a provider is sent: only what it needs, nothing of the client's headers. Envoy takes the cluster's name off, and sends Host and
 * path on as they are here. `span`: of the attempt, where the request is traced.
 */
export function providerRequest(order: Order, { provider, model }: Target, span: Span | undefined): ProviderRequest {
  const { outputLimitField } = provider;
  const headers = headersFor(provider, order.chat.stream);
  if (provider.sendTraceparent) headers.push(...traceHeaders(order, span));
  return {
    path: `${provider.baseUrl.pathname.replace(/\/+$/, '')}/chat/completions`,
    headers,
    body: order.chat.encodeFor({ model, outputLimitField, outputLimit: order.outputLimit }),
  };
}

function headersFor(provider: Provider, stream: boolean): string[] {
  const headers = [
    'host',
    provider.baseUrl.host,
    'x-gw-cluster',
    provider.cluster,
    'content-type',
    'application/json',
    'accept',
    stream ? 'text/event-stream' : 'application/json',
    // Compressed events would have to be opened to be accounted for, and arrive in larger lumps.
    'accept-encoding',
    'identity',
    'user-agent',
    'inference-gateway',
  ];
  if (provider.apiKey !== undefined) headers.push('authorization', `Bearer ${provider.apiKey}`);
  return headers;
}

/** A server that hears nothing would decide by itself what to record. */
function traceHeaders({ config, trace }: Order, span: Span | undefined): string[] {
  if (trace !== undefined && span !== undefined) return trace.headersFor(span);
  return config.tracing === undefined ? [] : untracedHeaders();
}
