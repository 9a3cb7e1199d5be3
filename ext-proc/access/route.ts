import { type Api, DOOR_APIS, type DoorApi } from '#core/config/apis.ts';
import { LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';
import type { Scope } from '#core/principal.ts';

/** Routes for output of a model, named by their API, and reads. */
export type RouteName = Api | 'count_tokens' | 'models' | 'credits' | 'generation' | 'usage';

export interface Route {
  readonly name: RouteName;
  /** Absent: any valid key. */
  readonly scope?: Scope;
  /** Id of the one model that is asked for. */
  readonly model?: string;
  /** Text after the first `?`, exactly as sent; empty if there is none. */
  readonly query: string;
}

export const ONE_MODEL = '/v1/models/{model}';
const MODELS = '/v1/models/';

export const ROUTES: ReadonlyMap<string, Omit<Route, 'query' | 'model'>> = new Map([
  ['POST /v1/chat/completions', { name: 'chat', scope: 'chat' }],
  ['POST /v1/responses', { name: 'responses', scope: 'chat' }],
  ['POST /v1/messages', { name: 'messages', scope: 'chat' }],
  ['POST /v1/messages/count_tokens', { name: 'count_tokens', scope: 'chat' }],
  ['POST /v1/embeddings', { name: 'embeddings', scope: 'chat' }],
  ['GET /v1/models', { name: 'models' }],
  [`GET ${ONE_MODEL}`, { name: 'models' }],
  ['GET /v1/credits', { name: 'credits', scope: 'usage:read' }],
  ['GET /v1/generation', { name: 'generation', scope: 'usage:read' }],
  ['GET /v1/usage', { name: 'usage', scope: 'usage:read' }],
]);

/** The door that a route belongs to. `undefined`: the route is always there. */
export function doorApiOfRoute(name: RouteName): DoorApi | undefined {
  return name === 'count_tokens' ? 'messages' : DOOR_APIS.find((api) => api === name);
}

function isOn(name: RouteName, apis: ReadonlySet<DoorApi>): boolean {
  const door = doorApiOfRoute(name);
  return door === undefined || apis.has(door);
}

/** Paths of other APIs that clients call by default, with a hint how to use this API instead. */
const HINTS: ReadonlyMap<string, string> = new Map([
  [
    '/v1/responses',
    'This gateway speaks chat completions: POST /v1/chat/completions. Use openai.chat(model) in the AI SDK, ' +
      'useResponsesApi: false (Python: use_responses_api=False) in LangChain, ' +
      'OpenAIChatCompletionsModel in the OpenAI Agents SDK',
  ],
  [
    '/v1/messages',
    'This gateway speaks chat completions: POST /v1/chat/completions. Use a client of the OpenAI API ' +
      'instead of one of the Anthropic API, with the same base URL and model',
  ],
  [
    '/v1/completions',
    'This gateway speaks chat completions: POST /v1/chat/completions with messages instead of prompt. ' +
      'Use client.chat.completions.create in the OpenAI SDKs, .chat() in the AI SDK, ChatOpenAI in LangChain',
  ],
  [
    '/v1/embeddings',
    'This gateway has no embeddings, only chat completions: POST /v1/chat/completions. ' +
      'Use another base URL for the embedding model',
  ],
]);

/**
 * The route for a method and a path with query, byte for byte: no case folding, no trailing slash,
 * no percent-decoding except of a model's id, so that nothing in front of the gateway that
 * normalizes differently can disagree about what a request is. `apis`: the doors that are enabled.
 */
export function findRoute(method: string, path: string, apis: ReadonlySet<DoorApi>): Route | Refusal {
  const mark = path.indexOf('?');
  const pathname = mark < 0 ? path : path.slice(0, mark);
  const model = modelIn(pathname);
  const route = ROUTES.get(`${method} ${model === undefined ? pathname : ONE_MODEL}`);
  // The query is left out of the message: clients have been seen to put keys there.
  if (!route || !isOn(route.name, apis)) {
    const echo = { method: method.slice(0, LONGEST_ECHO), path: pathname.slice(0, LONGEST_ECHO) };
    return refuse('route_not_found', { ...echo, hint: hintFor(pathname, apis) });
  }
  return { ...route, query: mark < 0 ? '' : path.slice(mark + 1), ...(model === undefined ? {} : { model }) };
}

/** The id at the end of the path. SDKs differ in whether they encode its slashes. */
function modelIn(pathname: string): string | undefined {
  if (!pathname.startsWith(MODELS) || pathname === MODELS) return undefined;
  const id = pathname.slice(MODELS.length);
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function hintFor(pathname: string, apis: ReadonlySet<DoorApi>): string {
  // Clients of Anthropic's API add /v1, clients of OpenAI's do not.
  if (pathname.startsWith('/v1/v1/messages')) return 'This client adds /v1 by itself: leave it out of the base URL';
  if (!pathname.startsWith('/v1/') || pathname.startsWith('/v1/v1/'))
    return 'Check that the base URL ends in /v1, once';
  const api = pathname.replace(/\/count_tokens$/, '');
  const isOpen = DOOR_APIS.some((door) => apis.has(door) && api === `/v1/${door}`);
  const hint = isOpen ? undefined : HINTS.get(api);
  if (hint !== undefined) return hint;
  const paths = [...ROUTES].filter(([, { name }]) => isOn(name, apis)).map(([path]) => path);
  return `This gateway has ${paths.join(', ')}`;
}
