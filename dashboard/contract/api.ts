import type { KeysApi } from './keys.ts';
import type { MoneyApi } from './money.ts';
import type { OperatorApi } from './operator.ts';
import type { OrganizationApi } from './organization.ts';
import type { PeopleApi } from './people.ts';
import type { RequestLogApi } from './request-log.ts';
import type { SessionApi } from './session.ts';

/**
 * Everything that the page asks its server: the method and path, what goes with it, what comes back. Both sides are checked against this.
 * It serves this page alone and is no API for customers (SPEC).
 */
export interface Api extends SessionApi, OrganizationApi, KeysApi, RequestLogApi, MoneyApi, PeopleApi, OperatorApi {}

export type Endpoint = keyof Api;
export type Answer<E extends Endpoint> = Api[E]['answer'];
export type Body<E extends Endpoint> = Api[E] extends { body: infer B } ? B : never;
export type Query<E extends Endpoint> = Api[E] extends { query: infer Q } ? Q : never;

/** Names of the `:parameters` in an endpoint's path. */
export type PathParameter<E extends string> = E extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathParameter<Rest>
  : E extends `${string}:${infer Name}`
    ? Name
    : never;

/** What a refused request gets, with a status of 4xx or 5xx. */
export interface ProblemView {
  readonly problem: ProblemCode;
  /** For people. */
  readonly message: string;
  /** By field of the body or query, where it is about fields. */
  readonly fields?: Readonly<Record<string, string>>;
  /** On `too_many_attempts`, `too_many_requests` and `unavailable`. */
  readonly retryAfterSeconds?: number;
}

export type ProblemCode =
  | 'invalid'
  | 'not_signed_in'
  | 'wrong_password'
  | 'password_needed'
  | 'too_many_attempts'
  | 'too_many_requests'
  | 'not_allowed'
  | 'cross_site'
  | 'not_found'
  | 'conflict'
  | 'link_used_or_expired'
  | 'too_large'
  | 'unavailable'
  | 'internal';

/** Tables that can be had as CSV, by GET with the filter of the page: `/api/organizations/:organization/requests.csv` and so on. */
export type CsvTable = 'requests' | 'ledger' | 'usage';
