import type { Empty } from './empty.ts';

/** What somebody is in an organization. Operators are everything everywhere; owners run their organization; members use it. */
export type Role = 'operator' | 'owner' | 'member';

export interface SessionView {
  readonly user: { readonly id: string; readonly email: string; readonly isOperator: boolean };
  /** Those that the user belongs to, by name. An operator finds the others by search. */
  readonly organizations: readonly OrganizationChoice[];
  /** Base URL of the API as clients reach it, for snippets: ends in `/v1`. */
  readonly apiUrl: string;
  readonly topUpUrl?: string;
  /** For operators: an address that sent X-Forwarded-For within the hour and is not in `trusted_proxies`. */
  readonly untrustedProxy?: string;
  /** The password is one that a command line made: somebody else knows it. */
  readonly choosePassword?: true;
  /** Pending invitations of this address elsewhere; each is accepted by its own link. Absent: none. */
  readonly invitations?: readonly PendingInvitation[];
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
  readonly purpose: 'invitation' | 'reset';
  readonly expiresAtMs: number;
  /** Name of the organization that an owner invites to. Absent: an operator made the user. */
  readonly organization?: string;
  readonly role?: 'owner' | 'member';
}

/** A browser that is signed in. */
export interface DeviceView {
  readonly id: string;
  readonly current: boolean;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  readonly address: string;
  readonly userAgent?: string;
}

export interface SessionApi {
  'GET /api/session': { query: Empty; answer: SessionView };
  'POST /api/session': { body: { email: string; password: string }; answer: SessionView };
  'DELETE /api/session': { body: Empty; answer: Empty };
  'POST /api/password-links/inspection': { body: { token: string }; answer: PasswordLinkView };
  /**
   * Uses the link up and signs in. A reset sets the password. An invitation makes an account with it, or, where its address has one, is
   * accepted with that account's password: anything else is `wrong_password`, and counts as an attempt to sign in.
   */
  'POST /api/password-links/use': { body: { token: string; password: string }; answer: SessionView };
  /** Accepts an invitation of the address that is signed in. */
  'POST /api/invitations/acceptance': { body: { token: string }; answer: SessionView };
  /** Every other session of the user ends. A wrong `current` is `wrong_password`, and counts as an attempt to sign in. */
  'PUT /api/password': { body: { current: string; next: string }; answer: Empty };
  /**
   * Booking credit, making an operator or a link to an account needs a password given within `dashboard.session.fresh_password`, at
   * sign-in or here: otherwise it is `password_needed`.
   */
  'POST /api/password/confirmation': { body: { password: string }; answer: Empty };
  'GET /api/devices': { query: Empty; answer: { devices: readonly DeviceView[] } };
  'DELETE /api/devices/:device': { body: Empty; answer: Empty };
}
