import { type Refusal, refuse } from '../../core/errors/refusal.ts';
import type { Scope } from '../../core/principal.ts';

export type RouteName = 'chat' | 'models' | 'credits' | 'generation' | 'usage';

export interface Route {
  readonly name: RouteName;
  /** Absent: any valid key. */
  readonly scope?: Scope;
  /** Text after the first `?`, exactly as sent; empty if there is none. */
  readonly query: string;
}

export const ROUTES: ReadonlyMap<string, Omit<Route, 'query'>> = new Map([
  ['POST /v1/chat/completions', { name: 'chat', scope: 'chat' }],
  ['GET /v1/models', { name: 'models' }],
  ['GET /v1/credits', { name: 'credits', scope: 'usage:read' }],
  ['GET /v1/generation', { name: 'generation', scope: 'usage:read' }],
  ['GET /v1/usage', { name: 'usage', scope: 'usage:read' }],
]);

/** Enough to recognise a mistaken base URL; a client's whole path is not echoed. */
const LONGEST_ECHO = 128;

/**
 * The route for a method and a path with query, byte for byte: no case folding, no trailing slash,
 * no percent-decoding, so that nothing in front of the gateway that normalizes differently can
 * disagree about what a request is.
 */
export function findRoute(method: string, path: string): Route | Refusal {
  const mark = path.indexOf('?');
  const pathname = mark < 0 ? path : path.slice(0, mark);
  const route = ROUTES.get(`${method} ${pathname}`);
  // The query is left out of the message: clients have been seen to put keys there.
  if (!route) {
    return refuse('route_not_found', { method: method.slice(0, LONGEST_ECHO), path: pathname.slice(0, LONGEST_ECHO) });
  }
  return { ...route, query: mark < 0 ? '' : path.slice(mark + 1) };
}
