import { z } from 'zod';
import { readQuery } from '#contract/define-search.ts';
import { type IdPrefix, isIdOf } from '#core/id-form.ts';
import type { Log } from '#core/log/log.ts';
import { type Changer, countChange } from '#database/audit/change-counts.ts';
import { authorize, type Granted } from './authorize.ts';
import { databaseInTurn } from './fairness/database-in-turn.ts';
import { afterResponse } from './http/after-response.ts';
import { type BodyBounds, readBody } from './http/bodies.ts';
import type { Bound } from './http/bound.ts';
import { callerOf, isCrossSite } from './http/caller.ts';
import { cookiesOf } from './http/cookies.ts';
import type { Table } from './http/csv-downloads.ts';
import { isProblem, notFound, type Problem, problem } from './http/problem.ts';
import { relay } from './http/relayed.ts';
import { type AppContext, headOf, sendJson, sendProblem, streamCsv } from './http/responses.ts';
import { type Deps, type Relay, type Route, takerOf } from './http/route.ts';
import { findSignedIn } from './sign-in/session.ts';

const PARAMETERS: Readonly<Record<string, IdPrefix>> = {
  organization: 'org',
  key: 'key',
  user: 'usr',
  device: 'ses',
  request: 'log',
  topUp: 'top',
  view: 'viw',
};

/** What requests and responses may use of the memory. */
export interface RouteBounds {
  readonly bodies: BodyBounds;
  readonly responses: Bound;
}

/** Checks origin, session, rights and input of a request. The first failure is the response. */
export async function serveRoute(
  context: AppContext,
  route: Route,
  { bodies, responses }: RouteBounds,
  deps: Deps,
  log: Log,
): Promise<Response> {
  const decided = await decide(context, route, bodies, deps, log);
  if (isProblem(decided)) return sendProblem(context, decided);
  const { outcome, userId } = decided;
  if (isProblem(outcome)) return sendProblem(context, outcome);
  if (route.kind === 'csv') return streamCsv(context, outcome as Table, log);
  if (route.kind === 'relay') return relay(context, outcome as Relay, log);
  return sendJson(context, outcome, responses, userId);
}

async function decide(
  context: AppContext,
  route: Route,
  bodies: BodyBounds,
  deps: Deps,
  log: Log,
): Promise<{ readonly outcome: object; readonly userId: string | undefined } | Problem> {
  const head = headOf(context);
  const caller = callerOf(head, deps.settings());
  if (caller.claimedAddress !== undefined) deps.untrustedProxies.note(caller.address);
  if (isCrossSite(route.method, head, caller)) return CROSS_SITE;
  const params = context.req.param() as Record<string, string>;
  for (const [name, value] of Object.entries(params)) {
    const prefix = PARAMETERS[name];
    if (prefix === undefined || !isIdOf(prefix, value)) return notFound(inWords(name));
  }
  const cookies = cookiesOf(context, caller.origin.startsWith('https:'));
  const check = async () => {
    const session = await findSignedIn({ ...deps, database: deps.entry }, cookies.session.value);
    return authorize(deps, route.access, session, params.organization);
  };
  // Checked before the body is read, so that strangers' bodies use no memory.
  const allowed = await check();
  if (isProblem(allowed)) return allowed;
  const sent = route.method === 'GET' ? undefined : await readBody(context, bodies, ownerOf(allowed));
  if (sent !== undefined && isProblem(sent)) return sent;
  // Checked again, because a body may take 30 s to arrive, and rights may end meanwhile.
  const granted = sent === undefined ? allowed : await check();
  if (isProblem(granted)) return granted;
  const input = readInput(context, route, sent && new TextDecoder().decode(sent));
  if (isProblem(input)) return input;
  if (needsPassword(route, granted, input.value, deps)) return PASSWORD_NEEDED;
  const countOne = () => limitChanges(deps, route, granted);
  const tooMany = route.countsItself ? undefined : await countOne();
  if (tooMany) return tooMany;
  const own = { ...deps, ...storesFor(deps, route, granted) };
  const shared = { deps: own, params, caller, cookies, countChange: countOne, ...granted, input: input.value };
  const outcome = await route.serve({ ...shared, afterResponse: (work) => afterResponse(context, log, work) });
  return { outcome, userId: granted.session?.user.id };
}

/** `topUp` as people write it: `top-up`. */
function inWords(parameter: string): string {
  return parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Whose share of the memory a body uses. */
function ownerOf({ session, ...place }: Granted): string | undefined {
  if (session === undefined) return undefined;
  const { organizationId, userId } = takerOf({ session, ...place });
  return organizationId ?? userId;
}

/**
 * Limits changes, because each writes a permanent audit event. Changes that end access count only
 * against a limit of the user. Operators do not use up the organization's limit.
 */
async function limitChanges(
  { entry, changeLimits }: Pick<Deps, 'entry' | 'changeLimits'>,
  { method, access, endsAccess }: Pick<Route, 'method' | 'access' | 'endsAccess'>,
  { session, organizationId, role }: Granted,
): Promise<Problem | undefined> {
  if (method === 'GET' || access === 'anyone' || session === undefined) return undefined;
  const { id } = session.user;
  const changer: Changer = endsAccess
    ? { subject: `ending access ${id}` }
    : { subject: id, ...(role === 'operator' || organizationId === undefined ? {} : { organization: organizationId }) };
  const counted = await countChange(entry, changer, changeLimits);
  if (counted.allowed) return undefined;
  const { by, retryAfterSeconds } = counted;
  const whose = by === 'organization' ? 'Your organization has' : 'You have';
  const message = `${whose} made too many changes in a short time. Try again in ${waitText(retryAfterSeconds)}.`;
  return problem('too_many_requests', message, { retryAfterSeconds });
}

/** For example `40 seconds` or `3 hours`. */
function waitText(seconds: number): string {
  if (seconds < 90) return seconds === 1 ? 'a second' : `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}

function needsPassword(
  { needsFreshPassword }: Route,
  { session, role }: Granted,
  input: unknown,
  { settings }: Deps,
): boolean {
  if (session === undefined || needsFreshPassword?.(input, role) !== true) return false;
  return session.passwordAgeMs > settings().session.freshPasswordMs;
}

const PASSWORD_NEEDED = problem('password_needed', 'Confirm your password first: POST /api/password/confirmation.');

/** Requests without a session use the entry connections. Signed-in users take turns. */
function storesFor(deps: Deps, { access }: Route, { session, ...place }: Granted): Partial<Deps> {
  if (access === 'anyone' || session === undefined) return { database: deps.entry };
  return { database: databaseInTurn(deps, takerOf({ session, ...place })) };
}

/** No other site can read it. Our own page gets it behind a proxy that changes the address. */
const CROSS_SITE = problem(
  'cross_site',
  'This request came from another site. Behind a proxy, set `dashboard.url` to the address that the browser shows.',
);

/** `sent` is the body. Absent: the query is the input. */
function readInput(context: AppContext, { input }: Route, sent: string | undefined): { value: unknown } | Problem {
  const given = sent === undefined ? readQuery(new URL(context.req.url).search) : parseBody(context, sent);
  if (given === undefined) return problem('invalid', 'The body must be JSON.');
  const parsed = input.safeParse(given);
  if (parsed.success) return { value: parsed.data };
  const { fieldErrors, formErrors } = z.flattenError(parsed.error);
  const fields = Object.entries(fieldErrors as Record<string, string[] | undefined>).map(([name, messages]) => [
    name,
    messages?.[0] ?? 'is not valid',
  ]);
  return problem('invalid', formErrors[0] ?? 'Some values are not valid.', { fields: Object.fromEntries(fields) });
}

function parseBody(context: AppContext, text: string): unknown {
  if (text === '') return {};
  if (!/^application\/json\b/i.test(context.req.header('content-type') ?? '')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
