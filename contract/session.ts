import type { Empty } from './fields.ts';
import type { PlaygroundView } from './playground.ts';

/** Role in an organization. Operators may do everything; owners manage it; members use it. */
export type Role = 'operator' | 'owner' | 'member';

export interface SessionView {
  readonly user: { readonly id: string; readonly email: string; readonly isOperator: boolean };
  /** The user's own organizations, by name. Operators find the others by search. */
  readonly organizations: readonly OrganizationChoice[];
  /** Base URL of the API as clients reach it, for snippets. Ends in `/v1`. */
  readonly apiUrl: string;
  /** APIs that clients may use besides chat completions. */
  readonly apis: readonly ('responses' | 'messages' | 'embeddings')[];
  readonly topUpUrl?: string;
  readonly signedInBy: 'password' | 'link' | 'issuer';
  /** True if owners can pay on the credits page. */
  readonly takesPayments?: true;
  /** Absent: there is no playground. */
  readonly playground?: PlaygroundView;
  /** For operators: an address with X-Forwarded-For in the last hour, not in `trusted_proxies`. */
  readonly untrustedProxy?: string;
  /** The password was generated on a command line, so somebody else knows it. */
  readonly choosePassword?: true;
  /** Pending invitations for the user's address. Each is accepted by its own link. */
  readonly invitations?: readonly PendingInvitation[];
}

export interface SignInMethodsView {
  readonly password: boolean;
  /** Name of the OpenID Connect issuer, or else its host. */
  readonly issuer?: string;
  /** True if a forgotten password can be reset by a mailed link. */
  readonly resetsByMail?: true;
}

export interface PendingInvitation {
  readonly organization: string;
  readonly role: 'owner' | 'member';
  readonly expiresAtMs: number;
}

export interface OrganizationChoice {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly suspended: boolean;
}

export interface PasswordLinkView {
  readonly email: string;
  /** `sign_in` needs no password. */
  readonly purpose: 'invitation' | 'reset' | 'sign_in';
  readonly expiresAtMs: number;
  /** The organization to which an owner invites. Absent if an operator created the user. */
  readonly organization?: string;
  readonly role?: 'owner' | 'member';
}

export interface DeviceView {
  readonly id: string;
  readonly current: boolean;
  readonly createdAtMs: number;
  /** Time of the last request, with a precision of a minute. */
  readonly lastSeenAtMs: number;
  /** Network address at sign-in. */
  readonly address: string;
  readonly userAgent?: string;
}

export interface SessionApi {
  'GET /api/session': { query: Empty; response: SessionView };
  'POST /api/session': { body: { email: string; password: string }; response: SessionView };
  /** Signs out. `signOutUrl`: the issuer's session should be ended there as well. */
  'DELETE /api/session': { body: Empty; response: { signOutUrl?: string } };
  'GET /api/sign-in': { query: Empty; response: SignInMethodsView };
  /** The response and its time are the same whether or not the address has an account. */
  'POST /api/password-resets': { body: { email: string }; response: Empty };
  /** Begins a sign-in at the issuer. With `again` the issuer asks for the password. */
  'POST /api/oidc/authorization': { body: { again?: true }; response: { url: string } };
  /** Ends the sign-in with the query parameters with which the issuer redirected the browser. */
  'POST /api/oidc/session': { body: { query: string }; response: SessionView };
  /** Signs in with a link that the command line made. */
  'POST /api/sign-in-links/use': { body: { token: string }; response: SessionView };
  'POST /api/password-links/inspection': { body: { token: string }; response: PasswordLinkView };
  /**
   * Redeems the link and signs in. A reset sets the password. An invitation creates an account with
   * it, or verifies it if the address has an account: a mismatch is `wrong_password` and counts as
   * a sign-in attempt.
   */
  'POST /api/password-links/use': { body: { token: string; password: string }; response: SessionView };
  'POST /api/invitations/acceptance': { body: { token: string }; response: SessionView };
  /** Ends other sessions. A wrong `current` is `wrong_password` and counts as a sign-in attempt. */
  'PUT /api/password': { body: { current: string; next: string }; response: Empty };
  /**
   * Adding credit, making operators and making links to accounts need a password that was entered
   * within `dashboard.session.fresh_password`, at sign-in or here. Otherwise the response is
   * `password_needed`.
   */
  'POST /api/password/confirmation': { body: { password: string }; response: Empty };
  'GET /api/devices': { query: Empty; response: { devices: readonly DeviceView[] } };
  'DELETE /api/devices/:device': { body: Empty; response: Empty };
}
