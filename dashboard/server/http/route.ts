import type { z } from 'zod';
import type { Api, Body, Endpoint, PathParameter, Query, ResponseOf } from '#contract/api.ts';
import { nothing } from '#contract/fields.ts';
import type { CatalogueComparison } from '#contract/operator.ts';
import type { Role } from '#contract/session.ts';
import type { TurnTaker } from '#core/fairness/turns.ts';
import type { Log } from '#core/log/log.ts';
import type { Actor } from '#database/audit/audit.ts';
import type { ChangeLimits } from '#database/audit/change-counts.ts';
import type { SignedIn } from '#database/sign-in/sessions.ts';
import type { DashboardTurns } from '../fairness/dashboard-turns.ts';
import type { Places } from '../fairness/places.ts';
import type { Database } from '../fairness/stores.ts';
import type { Issuers } from '../oidc/issuers.ts';
import type { GatewayResponse } from '../playground/ask-gateway.ts';
import type { Playground } from '../playground/playground.ts';
import type { Caller } from './caller.ts';
import type { Cookies } from './cookies.ts';
import { type Table, tooManyTables } from './csv-downloads.ts';
import { isProblem, type Problem } from './problem.ts';
import type { Settings } from './settings.ts';
import type { UntrustedProxies } from './untrusted-proxies.ts';

/**
 * The least rights that a route needs: none, a session, or a role in the organization of the path.
 * They are checked before the route runs (authorize.ts), so that no route can forget it.
 * test/integration/dashboard/access.test.ts tries every route with every kind of user.
 */
export type Access = 'anyone' | 'user' | Role;

export interface Deps {
  readonly log: Log;
  /** Statements of one route take turns with those of others (database-in-turn.ts). */
  readonly database: Database;
  /** Connections for sessions and routes without one. Signed-in users cannot exhaust them. */
  readonly entry: Database;
  readonly turns: DashboardTurns;
  readonly changeLimits: ChangeLimits;
  readonly settings: () => Settings;
  /** Names of the price lists in the configuration file. */
  readonly priceLists: () => readonly string[];
  readonly compareWithCatalogue: () => CatalogueComparison;
  readonly nowMs: () => number;
  readonly untrustedProxies: UntrustedProxies;
  readonly issuers: Issuers;
  readonly playground: Playground;
  readonly tables: Places;
}

export type Input<E extends Endpoint> = Api[E] extends { body: unknown } ? Body<E> : Query<E>;

interface AnyCall {
  readonly deps: Deps;
  readonly params: Readonly<Record<string, string>>;
  readonly caller: Caller;
  readonly cookies: Cookies;
  /** Does work whose duration the response time must not reveal (after-response.ts). */
  afterResponse(work: () => Promise<void>): Promise<void>;
  /** For routes that count their own changes. A problem: the user has made too many changes. */
  countChange(): Promise<Problem | undefined>;
}

export interface UserCall extends AnyCall {
  readonly session: SignedIn;
}

/** A call within an existing organization, in which the caller has at least the route's role. */
export interface OrganizationCall extends UserCall {
  readonly organizationId: string;
  readonly role: Role;
}

export type Call<E extends Endpoint, A extends Access> = {
  readonly params: Readonly<Record<PathParameter<E>, string>>;
  readonly input: Input<E>;
} & (A extends 'anyone' ? AnyCall : 'organization' extends PathParameter<E> ? OrganizationCall : UserCall);

/** True if the password must be recent (step-up): the effect outlasts a hijacked session. */
export type NeedsFreshPassword<I> = (input: I, role: Role | undefined) => boolean;

export type Definition<E extends Endpoint, A extends Access> = {
  readonly access: A;
  /** Default: never. */
  readonly needsFreshPassword?: NeedsFreshPassword<Input<E>>;
  /** True if the route removes access. Such changes have a limit that no others can use up. */
  readonly endsAccess?: true;
  handle(call: Call<E, A>): Promise<ResponseOf<E> | Problem>;
} & (keyof Input<E> extends never
  ? { readonly input?: undefined }
  : {
      /** Schema of the body, or of the query of a GET. It is strict, with explicit bounds. */
      readonly input: z.ZodType<Input<E>>;
    });

/** A route as served by app.ts. Its calls have been checked against `access` and `input`. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  readonly needsFreshPassword?: NeedsFreshPassword<unknown>;
  readonly input: z.ZodType;
  readonly kind: 'json' | 'csv' | 'relay';
  readonly endsAccess?: true;
  /** True if calls are not counted as changes. The route counts its changes with `countChange`. */
  readonly countsItself?: true;
  serve(call: UncheckedCall): Promise<object>;
}

export interface UncheckedCall extends AnyCall {
  readonly session?: SignedIn;
  readonly organizationId?: string;
  readonly role?: Role;
  readonly input: unknown;
}

export function route<E extends Endpoint, A extends Access>(endpoint: E, definition: Definition<E, A>): Route {
  const [method = '', path = ''] = endpoint.split(' ');
  const { access, input = nothing, endsAccess, needsFreshPassword } = definition;
  // Casts values that were checked at run time to the route's types, here and below.
  const serve = definition.handle as unknown as Route['serve'];
  return {
    ...{ method, path, access, input, kind: 'json', serve },
    ...(endsAccess ? { endsAccess } : {}),
    ...(needsFreshPassword ? { needsFreshPassword: needsFreshPassword as NeedsFreshPassword<unknown> } : {}),
  };
}

/** A route with a response other than JSON. */
interface OtherDefinition<I, Response> {
  readonly access: Access;
  readonly input: z.ZodType<I>;
  handle(call: OrganizationCall & { readonly input: I }): Promise<Response | Problem>;
}

/** A table as CSV, with the filter of its page. Pieces of any size consist of whole lines. */
export function csvRoute<I>(path: string, definition: OtherDefinition<I, AsyncIterable<string>>): Route {
  const { access, input, handle } = definition;
  const serve = async (call: Parameters<typeof handle>[0]): Promise<Table | Problem> => {
    const lines = await handle(call);
    if (isProblem(lines)) return lines;
    const end = await call.deps.tables.take(takerOf(call));
    return typeof end === 'function' ? { lines, end } : tooManyTables(end);
  };
  return { method: 'GET', path, access, input, kind: 'csv', serve: serve as unknown as Route['serve'] };
}

/** A request to the gateway, made once all checks have passed. */
export interface Relay {
  /** `left` cancels the request. Rejects if the gateway cannot be reached. */
  open(left: AbortSignal): Promise<GatewayResponse>;
  /** Called at least once when the response has ended for any reason. */
  end(): void;
}

/** A route that relays a response of the gateway as it arrives. */
export function relayRoute<I>(path: string, definition: OtherDefinition<I, Relay>): Route {
  const { access, input, handle } = definition;
  const serve = handle as unknown as Route['serve'];
  return { method: 'POST', path, access, input, kind: 'relay', countsItself: true, serve };
}

export function actorOf({ session, caller }: Pick<UserCall, 'session' | 'caller'>): Actor {
  return { actor: session.user.email, userId: session.user.id, address: caller.address };
}

/** Whose share of the server a call uses. Operators do not use that of an organization. */
export function takerOf({
  session,
  organizationId,
  role,
}: Pick<UncheckedCall, 'organizationId' | 'role'> & Pick<UserCall, 'session'>): TurnTaker {
  const userId = session.user.id;
  return organizationId === undefined || role === 'operator' ? { userId } : { userId, organizationId };
}

export type EntryCall = Pick<UserCall, 'deps' | 'caller' | 'cookies' | 'afterResponse'>;
