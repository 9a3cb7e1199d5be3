import type { z } from 'zod';
import type { Administration } from '../../../database/administration/administration.ts';
import type { Actor } from '../../../database/audit/audit.ts';
import type { ChangeLimits } from '../../../database/audit/change-counts.ts';
import type { SignedIn } from '../../../database/sign-in/sessions.ts';
import type { Answer, Api, Body, Endpoint, PathParameter, Query } from '../../contract/api.ts';
import type { Role } from '../../contract/session.ts';
import type { Database } from '../turns/stores.ts';
import type { Turns } from '../turns/turns.ts';
import type { Caller } from './caller.ts';
import type { Cookies } from './cookies.ts';
import type { Problem } from './problem.ts';
import type { Settings } from './settings.ts';
import type { UntrustedProxies } from './untrusted-proxies.ts';

/**
 * Who may ask: anybody; who is signed in; or who is at least that in the organization of the path. Checked before a route runs
 * (authorize.ts), so that no route can forget it; test/integration/dashboard/access.test.ts tries every route as everybody.
 */
export type Access = 'anyone' | 'user' | Role;

export interface Deps {
  /** A route has it in turn with those of others (stores-in-turn.ts). */
  readonly database: Database;
  /** Connections of sessions and of routes for anyone, which no signed-in user can keep busy. */
  readonly entry: Database;
  readonly turns: Turns;
  readonly changeLimits: ChangeLimits;
  readonly administration: Administration;
  readonly settings: () => Settings;
  readonly nowMs: () => number;
  readonly untrustedProxies: UntrustedProxies;
}

export type Input<E extends Endpoint> = Api[E] extends { body: unknown } ? Body<E> : Query<E>;

interface AnyCall {
  readonly deps: Deps;
  readonly params: Readonly<Record<string, string>>;
  readonly caller: Caller;
  readonly cookies: Cookies;
}

/** What every route but those for anyone can rely on. */
export interface UserCall extends AnyCall {
  readonly session: SignedIn;
}

/** The caller is at least what the route asks for in this organization, which exists, or an operator. */
export interface OrganizationCall extends UserCall {
  readonly organizationId: string;
  readonly role: Role;
}

export type Call<E extends Endpoint, A extends Access> = {
  readonly params: Readonly<Record<PathParameter<E>, string>>;
  readonly input: Input<E>;
} & (A extends 'anyone' ? AnyCall : 'organization' extends PathParameter<E> ? OrganizationCall : UserCall);

/** True: the password must have been given lately (step-up), because the effect outlives the session of somebody who found a browser signed in. */
export type NeedsFreshPassword<I> = (input: I, role: Role | undefined) => boolean;

export interface Definition<E extends Endpoint, A extends Access> {
  readonly access: A;
  /** Default: never. */
  readonly needsFreshPassword?: NeedsFreshPassword<Input<E>>;
  /** Of the body, or of the query for GET; strict, every bound explicit. */
  readonly input: z.ZodType<Input<E>>;
  /** Takes away what somebody may do: other changes keep nobody from it (limit-changes.ts). */
  readonly endsAccess?: true;
  answer(call: Call<E, A>): Promise<Answer<E> | Problem>;
}

/** A route as app.ts serves it: what it is called with has been checked against `access` and `input` there. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  readonly needsFreshPassword?: NeedsFreshPassword<unknown>;
  readonly input: z.ZodType;
  readonly kind: 'json' | 'csv';
  readonly endsAccess?: true;
  serve(call: UncheckedCall): Promise<object | AsyncIterable<string>>;
}

export interface UncheckedCall extends AnyCall {
  readonly session?: SignedIn;
  readonly organizationId?: string;
  readonly role?: Role;
  readonly input: unknown;
}

export function route<E extends Endpoint, A extends Access>(endpoint: E, definition: Definition<E, A>): Route {
  const [method = '', path = ''] = endpoint.split(' ');
  const { access, input, endsAccess, needsFreshPassword } = definition;
  // The one place where what app.ts has checked at run time becomes what the types say.
  const serve = (call: UncheckedCall) => definition.answer(call as unknown as Call<E, A>);
  return {
    ...{ method, path, access, input, kind: 'json', serve },
    ...(endsAccess ? { endsAccess } : {}),
    ...(needsFreshPassword ? { needsFreshPassword: needsFreshPassword as NeedsFreshPassword<unknown> } : {}),
  };
}

/** A table as CSV, by the filter that its page has. `lines` yields whole lines, in pieces of any size. */
export function csvRoute<I>(
  path: string,
  definition: {
    readonly access: Access;
    readonly input: z.ZodType<I>;
    lines(call: OrganizationCall & { readonly input: I }): Promise<AsyncIterable<string> | Problem>;
  },
): Route {
  const { access, input } = definition;
  const serve = (call: UncheckedCall) => definition.lines(call as unknown as OrganizationCall & { readonly input: I });
  return { method: 'GET', path, access, input, kind: 'csv', serve };
}

/** Who asks, as the audit log tells of it. */
export function actorOf({ session, caller }: Pick<UserCall, 'session' | 'caller'>): Actor {
  return { actor: session.user.email, userId: session.user.id, address: caller.address };
}

/** A call of a route that lets somebody in. */
export type EntryCall = Pick<UserCall, 'deps' | 'caller' | 'cookies'>;
