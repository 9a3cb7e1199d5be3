import type { Provider, Target } from '../../../core/config/gateway-config.ts';
import { untracedHeaders } from '../../tracing/request-trace.ts';
import type { Span } from '../../tracing/span.ts';
import type { Identify } from './identities.ts';
import type { Order } from './order.ts';

export interface ProviderRequest {
  /** All of it, as Latin-1, with the empty line. `undefined`: something in it cannot be said in a header. */
  readonly head: string | undefined;
  /** In pieces. */
  readonly body: readonly Buffer[];
  readonly bodyBytes: number;
}

/**
 * What a provider is sent: only what it needs, nothing of the client's headers. Envoy takes the cluster's name off, and sends Host and
 * path on as they are here. `span`: of the attempt, where the request is traced.
 */
export function providerRequest(
  order: Order,
  { provider, model }: Target,
  span: Span | undefined,
  identify: Identify,
): ProviderRequest {
  const { outputLimitField } = provider;
  const { organizationId, outputLimit } = order;
  const body = order.chat.encodeFor({
    ...{ model, outputLimitField, outputLimit },
    identify: (field, value) => identify(organizationId, field, value),
  });
  let bodyBytes = 0;
  for (const piece of body) bodyBytes += piece.length;
  return { head: headFor(provider, order, span, bodyBytes), body, bodyBytes };
}

function headFor(provider: Provider, order: Order, span: Span | undefined, bodyBytes: number): string | undefined {
  const { json, stream } = constantHeads(provider);
  const constant = order.chat.stream ? stream : json;
  const trace = provider.sendTraceparent ? fieldLines(traceHeaders(order, span)) : '';
  if (constant === undefined || trace === undefined) return undefined;
  return `${constant}${trace}content-length: ${bodyBytes}\r\n\r\n`;
}

/** What is the same in every request to a provider. */
interface ConstantHeads {
  readonly json: string | undefined;
  readonly stream: string | undefined;
}

/** A provider's settings are an object of each configuration, so that a reload begins anew. */
const knownHeads = new WeakMap<Provider, ConstantHeads>();

function constantHeads(provider: Provider): ConstantHeads {
  const known = knownHeads.get(provider);
  if (known !== undefined) return known;
  const heads = {
    json: constantHead(provider, 'application/json'),
    stream: constantHead(provider, 'text/event-stream'),
  };
  knownHeads.set(provider, heads);
  return heads;
}

const TARGET = /^\/[\x21-\x7e]*$/;

function constantHead(provider: Provider, accept: string): string | undefined {
  const { baseUrl, cluster, apiKey } = provider;
  const path = `${baseUrl.pathname.replace(/\/+$/, '')}/chat/completions`;
  const headers = ['host', baseUrl.host, 'x-gw-cluster', cluster, 'content-type', 'application/json', 'accept', accept];
  // Compressed events would have to be opened to be accounted for, and arrive in larger lumps.
  headers.push('accept-encoding', 'identity', 'user-agent', 'inference-gateway');
  if (apiKey !== undefined) headers.push('authorization', `Bearer ${apiKey}`);
  const fields = fieldLines(headers);
  return fields === undefined || !TARGET.test(path) ? undefined : `POST ${path} HTTP/1.1\r\n${fields}`;
}

const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Of names and values in turn; the names are ours. A value that would end its line, or is not Latin-1, must never be written. */
function fieldLines(headers: readonly string[]): string | undefined {
  let lines = '';
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const value = headers[at + 1] ?? '';
    if (!VALUE.test(value)) return undefined;
    lines += `${headers[at]}: ${value}\r\n`;
  }
  return lines;
}

/** A server that hears nothing would decide by itself what to record. */
function traceHeaders({ config, trace }: Order, span: Span | undefined): string[] {
  if (trace !== undefined && span !== undefined) return trace.headersFor(span);
  return config.tracing === undefined ? [] : untracedHeaders();
}
