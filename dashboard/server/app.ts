import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { NoTurn } from '#core/fairness/turns.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { DatabaseUnprepared } from '#database/connection/unavailable.ts';
import { Bound } from './http/bound.ts';
import { brandedPage, brandFile } from './http/brand.ts';
import { callerOf } from './http/caller.ts';
import { notFound, type Problem, problem, unavailable } from './http/problem.ts';
import { headOf, sendProblem } from './http/responses.ts';
import type { Deps, Route } from './http/route.ts';
import { securityHeaders } from './http/security-headers.ts';
import { type StaticFiles, serveFile } from './http/static-files.ts';
import { MAX_EVENT_BYTES } from './payments/webhook.ts';
import { serveRoute } from './serve-route.ts';
import { serveStripeWebhook } from './serve-webhook.ts';

export type App = Hono<{ Bindings: HttpBindings }>;

/** Far above the size of any form on the page. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_BODIES_BYTES = 32 * 1024 * 1024;
/** Bound of a conversation with images. Its memory is held until the response has ended. */
const MAX_PLAY_BYTES = 4 * 1024 * 1024;
const MAX_PLAYS_BYTES = 64 * 1024 * 1024;
/** A quarter, so that one organization cannot keep others from playing. */
const MAX_PLAYS_BYTES_OF_ORGANIZATION = MAX_PLAYS_BYTES / 4;
const MAX_RESPONSES_BYTES = 128 * 1024 * 1024;
/** Above the longest response, which is the key list of an organization with 2,000 long keys. */
const MAX_RESPONSES_BYTES_OF_USER = 48 * 1024 * 1024;
/** Stripe repeats events without a 2xx response for three days. */
const MAX_EVENTS_AT_ONCE = 32;

/** The dashboard as one HTTP application: the page, and the routes of its API. */
export function createApp(routes: readonly Route[], deps: Deps, files: StaticFiles, log: Log): App {
  const app: App = new Hono();
  const memory = new Bound(MAX_BODIES_BYTES);
  const ofPage = { mostBytes: MAX_BODY_BYTES, memory };
  const ofEvents = { mostBytes: MAX_EVENT_BYTES, memory, places: new Bound(MAX_EVENTS_AT_ONCE) };
  app.use(async (context, next) => {
    await next();
    const isHttps = callerOf(headOf(context), deps.settings()).origin.startsWith('https:');
    for (const [name, value] of Object.entries(securityHeaders(isHttps))) context.res.headers.set(name, value);
    if (context.req.path.startsWith('/api/')) context.res.headers.set('cache-control', 'no-store');
  });
  app.post('/webhooks/stripe', (context) => serveStripeWebhook(context, ofEvents, deps, log));
  const ofPlays = { mostBytes: MAX_PLAY_BYTES, memory: new Bound(MAX_PLAYS_BYTES, MAX_PLAYS_BYTES_OF_ORGANIZATION) };
  const responses = new Bound(MAX_RESPONSES_BYTES, MAX_RESPONSES_BYTES_OF_USER);
  for (const route of routes) {
    const bounds = { bodies: route.kind === 'relay' ? ofPlays : ofPage, responses };
    app.on(route.method, route.path, (context) => serveRoute(context, route, bounds, deps, log));
  }
  for (const path of ['/api/*', '/webhooks/*']) app.all(path, (context) => sendProblem(context, notFound('route')));
  app.get('/live', (context) => context.text('live\n'));
  app.get('*', (context) => {
    const { brand = {} } = deps.settings();
    // The page is served at each of its addresses, and does its own routing.
    const page = files.get('/index.html');
    const found = files.get(context.req.path) ?? (isPageAddress(context.req.path) ? page : undefined);
    const isBranded = found?.type === page?.type && Object.keys(brand).length > 0;
    const file = brandFile(context.req.path, brand) ?? (found && isBranded ? brandedPage(found, brand) : found);
    if (file !== undefined) return serveFile(context, file);
    return page === undefined
      ? context.text('The dashboard has not been built: run `node scripts/setup.mjs`.\n', 503)
      : context.text('There is no such file.\n', 404);
  });
  app.all('*', (context) => sendProblem(context, notFound('route')));
  app.onError((error, context) => {
    if (error instanceof NoTurn) return sendProblem(context, noTurn(error));
    if (error instanceof StoreUnavailable) {
      // What it lacks may be a bug of ours, which the cause and the route tell.
      const level = error instanceof DatabaseUnprepared ? 'error' : 'warn';
      log[level]({ err: error, path: context.req.routePath }, 'the database does not answer');
      return sendProblem(context, unavailable('The database does not respond at the moment.'));
    }
    const { incoming } = context.env;
    // A client that leaves before the end of its body gets no response. Logging this would let
    // anybody fill the log.
    if (incoming.destroyed && !incoming.complete) return context.body(null, 400);
    log.error({ err: error, path: context.req.routePath }, 'a request of the dashboard failed');
    return sendProblem(context, problem('internal', 'Something failed on our side. It has been logged.'));
  });
  return app;
}

function noTurn({ isOwnFault, retryAfterSeconds }: NoTurn): Problem {
  return isOwnFault
    ? problem('too_many_requests', 'Too many requests at once. Try again in some seconds.', { retryAfterSeconds })
    : unavailable('The dashboard is busy. Try again in some seconds.', retryAfterSeconds);
}

/** Addresses of the page have no file extension. */
function isPageAddress(path: string): boolean {
  return !path.startsWith('/assets/') && !/\.[a-z0-9]+$/i.test(path);
}
