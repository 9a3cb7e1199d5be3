import type { Provider, Target } from '#core/config/gateway-config.ts';
import { API_PATHS, EMBEDDINGS_PATH, LEAST_OUTPUT_TOKENS, type ProviderApi } from '#core/config/provider-api.ts';
import type { RequestAtDoor } from '../../doors/request-at-door.ts';
import { clusterOf } from '../../envoy-config/provider-cluster.ts';
import { bytesOf } from '../../fairness/bytes-of.ts';
import type { AddedReasoning } from '../../reasoning/request-reasoning.ts';
import type { Span } from '../../telemetry/request-trace.ts';
import { untracedHeaders } from '../../telemetry/trace-context.ts';
import { type AdmittedRequest, doorApiOf } from './admitted-request.ts';
import { DIALECTS } from './dialects.ts';
import type { Identify } from './identities.ts';

export interface ProviderRequest {
  readonly path: string;
  /** Alternating names and values. `undefined`: a value or the path is not valid in HTTP. */
  readonly headers: readonly string[] | undefined;
  /** In pieces. */
  readonly body: readonly Buffer[];
  readonly bodyBytes: number;
  /** Called once, when the call is over. */
  readonly onOver?: () => void;
}

/**
 * The chat completion for this target, in pieces. If translate-body.ts will translate it, it is not
 * shaped yet. If it is for another API, kept reasoning is not inserted yet.
 */
export function chatBody(
  { chat, organizationId, outputLimit, atDoor }: AdmittedRequest,
  { provider, model, api, shaping: own }: Target,
  added: readonly AddedReasoning[],
  identify: Identify,
): readonly Buffer[] {
  const { outputLimitField, streamOptions, reasoningMemory } = provider;
  const shaping = atDoor?.hasToolMedia ? undefined : own;
  const kept = new Map(added.map(({ message, json }) => [message, json]));
  const reasoning = reasoningMemory && { member: reasoningMemory, kept };
  return chat.encodeFor({
    ...{ model, outputLimit: outputLimit === 0 ? undefined : outputLimit, streamOptions },
    ...(api === 'chat' ? { outputLimitField, shaping, reasoning } : { outputLimitField: 'max_completion_tokens' }),
    identify: (field, value) => identify(organizationId, field, value),
  });
}

/** The client's own body, in pieces, for a target to which it is passed on. */
export function passedBody(
  atDoor: RequestAtDoor,
  { chat, organizationId, outputLimit }: AdmittedRequest,
  { model, api, shaping = [] }: Target,
  identify: Identify,
): readonly Buffer[] {
  const identities = new Map<string, string>();
  for (const [field, value] of chat.identities) identities.set(field, identify(organizationId, field, value));
  const limit = Math.max(outputLimit, LEAST_OUTPUT_TOKENS[api]);
  return atDoor.passedBody(
    { model, outputLimit: limit, serviceTier: chat.serviceTier, identities },
    shaping,
    chat.hasTools,
  );
}

/**
 * Makes the request to a provider. Headers of the client are sent only with a body that is passed
 * on. Envoy removes the cluster's name, and sends path and Host as they are here; one of several
 * endpoints gets a Host of its own. `span`: of the attempt, if it is traced. `body`: in the API of
 * the target.
 */
export function providerRequest(
  admitted: AdmittedRequest,
  target: Target,
  span: Span | undefined,
  body: readonly Buffer[],
): ProviderRequest {
  const { provider } = target;
  const { path, json, stream } = constantParts(target, doorApiOf(admitted) === 'embeddings');
  const constant = admitted.chat.stream ? stream : json;
  const trace = provider.sendTraceparent ? traceHeaders(admitted, span) : [];
  const isSendable = constant !== undefined && areSendable(trace);
  const headers = isSendable ? [...withPassed(constant, passedHeaders(admitted, target)), ...trace] : undefined;
  return { path, headers, body, bodyBytes: bytesOf(body) };
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

function passedHeaders({ atDoor }: AdmittedRequest, target: Target): ReadonlyMap<string, string> {
  return atDoor?.passesTo(target) ? atDoor.headers : NO_HEADERS;
}

/** Adds headers of the client. Where the operator sets one too, the client's value is appended. */
function withPassed(constant: readonly string[], passed: ReadonlyMap<string, string>): readonly string[] {
  if (passed.size === 0) return constant;
  const headers = [...constant];
  for (const [name, value] of passed) {
    if (!areSendable([value])) continue;
    const at = headers.findIndex((known, index) => index % 2 === 0 && known.toLowerCase() === name);
    if (at === -1) headers.push(name, value);
    else headers[at + 1] = `${headers[at + 1]},${value}`;
  }
  return headers;
}

interface ConstantParts {
  readonly path: string;
  /** Headers of a request for JSON, and of one for a stream. */
  readonly json: readonly string[] | undefined;
  readonly stream: readonly string[] | undefined;
}

/** Keyed by object: a new configuration has new target objects, so it finds no old parts. */
const knownParts = new WeakMap<Target, ConstantParts>();

/** A target serves embeddings or chat, never both. */
function constantParts(target: Target, isEmbedding: boolean): ConstantParts {
  const known = knownParts.get(target);
  if (known !== undefined) return known;
  const { provider, api } = target;
  const path = `${provider.baseUrl.pathname.replace(/\/+$/, '')}${isEmbedding ? EMBEDDINGS_PATH : API_PATHS[api]}${queryOf(provider)}`;
  const headersWith = (accept: string) => (PATH.test(path) ? constantHeaders(target, accept) : undefined);
  const parts = { path, json: headersWith('application/json'), stream: headersWith('text/event-stream') };
  knownParts.set(target, parts);
  return parts;
}

const PATH = /^\/[\x21-\x7e]*$/;

function queryOf({ query = {} }: Provider): string {
  const parameters = Object.entries(query).map((parameter) => parameter.map(encodeURIComponent).join('='));
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`;
}

function constantHeaders({ provider, api }: Target, accept: string): string[] | undefined {
  const { baseUrl } = provider;
  const headers = [
    'host',
    baseUrl.host,
    'x-gw-cluster',
    clusterOf(provider),
    'content-type',
    'application/json',
    'accept',
    accept,
  ];
  // Compressed events would have to be decompressed for the charge, and arrive in larger pieces.
  headers.push('accept-encoding', 'identity');
  const version =
    api === 'anthropic' && provider.anthropicVersion !== undefined
      ? { 'anthropic-version': provider.anthropicVersion }
      : {};
  const more = { 'user-agent': 'inference-gateway', ...DIALECTS[api]?.headers, ...version, ...provider.headers };
  for (const [name, value] of Object.entries(more)) headers.push(name, value);
  headers.push(...keyHeader(provider, api));
  return areSendable(headers) ? headers : undefined;
}

function keyHeader({ apiKey, auth }: Pick<Provider, 'apiKey' | 'auth'>, api: ProviderApi): string[] {
  if (apiKey === undefined) return [];
  if (auth?.kind === 'header') return [auth.name, apiKey];
  return api === 'anthropic' ? ['x-api-key', apiKey] : ['authorization', `Bearer ${apiKey}`];
}

const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** True if all values are Latin-1 and none contains a line end. */
function areSendable(headers: readonly string[]): boolean {
  return headers.every((value) => VALUE.test(value));
}

/** An untraced request says so. Otherwise the provider's tracing would decide by itself. */
function traceHeaders({ config, trace }: AdmittedRequest, span: Span | undefined): string[] {
  if (trace !== undefined && span !== undefined) return trace.headersFor(span);
  return config.tracing === undefined ? [] : untracedHeaders();
}
