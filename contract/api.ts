import type { AlertsApi } from './alerts.ts';
import type { CostsApi } from './costs.ts';
import type { ExploreApi } from './explore-filter.ts';
import type { KeysApi } from './keys.ts';
import type { MoneyApi } from './money.ts';
import type { OperatorApi } from './operator.ts';
import type { OrganizationApi } from './organization.ts';
import type { PeopleApi } from './people.ts';
import type { RequestLogApi } from './request-log.ts';
import type { SessionApi } from './session.ts';
import type { TopUpsApi } from './top-ups.ts';
import type { ViewsApi } from './views.ts';

/**
 * The page's requests to its server: method and path, input, response. Both sides are checked
 * against these types. This interface serves the page alone and is no API for customers.
 */
export interface Api
  extends SessionApi,
    OrganizationApi,
    KeysApi,
    RequestLogApi,
    MoneyApi,
    PeopleApi,
    AlertsApi,
    TopUpsApi,
    OperatorApi,
    CostsApi,
    ExploreApi,
    ViewsApi {}

export type Endpoint = keyof Api;
export type ResponseOf<E extends Endpoint> = Api[E]['response'];
export type Body<E extends Endpoint> = Api[E] extends { body: infer B } ? B : never;
export type Query<E extends Endpoint> = Api[E] extends { query: infer Q } ? Q : never;

/** Names of the `:parameters` in an endpoint's path. */
export type PathParameter<E extends string> = E extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathParameter<Rest>
  : E extends `${string}:${infer Name}`
    ? Name
    : never;

/** Body of a refused request, with a status of 4xx or 5xx. */
export interface ProblemView {
  readonly problem: ProblemCode;
  /** Text for the user. */
  readonly message: string;
  /** Messages by field of the body or query. */
  readonly fields?: Readonly<Record<string, string>>;
  /** For `too_many_attempts`, `too_many_requests`, `unavailable` and `issuer_unavailable`. */
  readonly retryAfterSeconds?: number;
}

export type ProblemCode = keyof typeof PROBLEM_STATUS;
/** Each problem with the status of its response. */
export const PROBLEM_STATUS = {
  invalid: 400,
  not_signed_in: 401,
  // Not 401, which makes the page ask for a sign-in: a wrong current password gets this as well.
  wrong_password: 403,
  // The user is signed in, but gave the password too long ago.
  password_needed: 403,
  // Passwords are off: accounts have no password to prove, set or reset.
  passwords_off: 403,
  issuer_refused: 403,
  identity_refused: 403,
  email_unverified: 403,
  no_account: 403,
  not_allowed: 403,
  cross_site: 403,
  not_found: 404,
  conflict: 409,
  account_has_password: 409,
  other_identity: 409,
  link_used_or_expired: 410,
  sign_in_expired: 410,
  too_large: 413,
  too_many_attempts: 429,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
  issuer_unavailable: 503,
} as const;

/**
 * Tables with a CSV export. Its URL has the filter of the page as its query:
 * `/api/organizations/:organization/requests.csv` and so on, and `/api/costs.csv` and others for
 * operators.
 */
export type CsvTable = 'requests' | 'ledger' | 'keys' | 'audit';
export type OperatorCsvTable = 'costs' | 'requests' | 'audit';
