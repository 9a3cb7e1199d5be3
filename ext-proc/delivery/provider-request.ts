import type { Provider, Target } from '../config/gateway-config.ts';
import type { Order } from './delivery.ts';
import type { ProviderRequest } from './provider-call.ts';

/**
 * What a provider is sent: only what it needs, nothing of the client's headers. Envoy takes the cluster's name off, and sends Host and
 * path on as they are here.
 */
export function providerRequest(order: Order, { provider, model }: Target): ProviderRequest {
  const { outputLimitField } = provider;
  return {
    path: `${provider.baseUrl.pathname.replace(/\/+$/, '')}/chat/completions`,
    headers: headersFor(provider, order.chat.stream),
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
