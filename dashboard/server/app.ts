import type { HttpBindings } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Log } from '../../core/log/log.ts';
import { StoreUnavailable } from '../../core/store-unavailable.ts';
import { NoTurn } from '../../core/turns/turns.ts';
import { callerOf } from './http/caller.ts';
import { notFound, type Problem, problem, unavailable } from './http/problem.ts';
import { type AppContext, sendProblem } from './http/responses.ts';
import type { Deps, Route } from './http/route.ts';
import { securityHeaders } from './http/security-headers.ts';
import type { StaticFiles } from './http/static-files.ts';
import { serveFile } from './http/static-files.ts';
import { MAX_EVENT_BYTES } from './payments/webhook.ts';
import { serveRoute } from './serve-route.ts';
import { serveStripeWebhook } from './serve-webhook.ts';

export type App = Hono<{ Bindings: HttpBindings }>;

/** Far above any form of the page. */
const MAX_BODY_BYTES = 64 * 1024;

/** The dashboard as one HTTP application: the routes of the page's own interface, and the page. */
export function createApp(routes: readonly Route[], deps: Deps, files: StaticFiles, log: Log): App {
  const app: App = new Hono();
  app.use(async (context, next) => {
    await next();
    const isHttps = originOf(context, deps).startsWith('https:');
    for (const [name, value] of Object.entries(securityHeaders(isHttps))) context.res.headers.set(name, value);
    if (context.req.path.startsWith('/api/')) context.res.headers.set('cache-control', 'no-store');
  });
  app.use('/api/*', limitBody(MAX_BODY_BYTES));
  app.post('/webhooks/stripe', limitBody(MAX_EVENT_BYTES), (context) => serveStripeWebhook(context, deps, log));
  for (const route of routes) {
    app.on(route.method, route.path, (context) => serveRoute(context, route, deps, log));
  }
  app.all('/api/*', (context) => sendProblem(context, notFound('route')));
  app.get('/live', (context) => context.text('live\n'));
  app.get('*', (context) => {
    const file = files.find(context.req.path) ?? (isPageAddress(context.req.path) ? files.page : undefined);
    if (file !== undefined) return serveFile(context, file);
    return files.page === undefined
      ? context.text('The dashboard has not been built: run `node scripts/setup.mjs`.\n', 503)
      : context.text('There is no such file.\n', 404);
  });
  app.all('*', (context) => sendProblem(context, notFound('route')));
  app.onError((error, context) => {
    if (error instanceof NoTurn) return sendProblem(context, noTurn(error));
    if (error instanceof StoreUnavailable) {
      log.warn({ error: error.message }, 'the database does not answer');
      return sendProblem(context, unavailable('The database does not respond at the moment.'));
    }
    const { incoming } = context.env;
    // A client that leaves before the end of its body gets no response. Logging it would let
    // anybody fill the log.
    if (incoming.destroyed && !incoming.complete) return context.body(null, 400);
    log.error({ err: error, path: context.req.routePath }, 'a request of the dashboard failed');
    return sendProblem(context, problem('internal', 'Something failed on our side. It has been logged.'));
  });
  return app;
}

function limitBody(maxSize: number): MiddlewareHandler {
  return bodyLimit({
    maxSize,
    onError: (context) => sendProblem(context, problem('too_large', 'The request is too large.')),
  });
}

function noTurn({ isOwn, retryAfterSeconds }: NoTurn): Problem {
  return isOwn
    ? problem('too_many_requests', 'Too many requests at once. Try again in some seconds.', { retryAfterSeconds })
    : unavailable('The dashboard is busy. Try again in some seconds.', retryAfterSeconds);
}

/** Addresses of the page have no file extension. */
function isPageAddress(path: string): boolean {
  return !path.startsWith('/assets/') && !/\.[a-z0-9]+$/i.test(path);
}

function originOf(context: AppContext, deps: Deps): string {
  const head = {
    peerAddress: context.env.incoming.socket.remoteAddress ?? '',
    header: (name: string) => context.req.header(name),
  };
  return callerOf(head, deps.settings()).origin;
}
