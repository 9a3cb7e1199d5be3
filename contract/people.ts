import type { Empty } from './empty.ts';

export interface MemberView {
  /** For an invited person without an account, the id of the user that accepting would create. */
  readonly userId: string;
  readonly email: string;
  readonly role: 'owner' | 'member';
  /** Has not accepted the invitation, or not set a password yet. */
  readonly invited: boolean;
  readonly disabled: boolean;
  readonly createdAtMs: number;
  readonly lastSignedInAtMs?: number;
  /** Number of active keys of the organization that belong to this member. */
  readonly activeKeys: number;
}

/** A link that sets a password or accepts an invitation once. */
export interface LinkView {
  /** The caller hands it to the person. Absent: it goes by mail. */
  readonly url?: string;
  readonly expiresAtMs: number;
}

/**
 * A change of a list: added and removed members, and the number that the event has no room for.
 * Null: no list.
 */
export interface ListChangeView {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly addedLeftOut?: number;
  readonly removedLeftOut?: number;
  readonly before?: null;
  readonly after?: null;
}

export interface AuditEventView {
  readonly id: string;
  readonly atMs: number;
  readonly actor: string;
  readonly address?: string;
  readonly action: string;
  readonly organizationId?: string;
  readonly organizationName?: string;
  readonly subjectId?: string;
  readonly subjectName?: string;
  readonly changes: Readonly<Record<string, readonly [before: unknown, after: unknown] | ListChangeView>>;
}

/** Absent fields do not filter. */
export interface AuditFilter {
  /** Part of the shown actor name, ignoring case. */
  readonly actor?: string;
  readonly action?: string;
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

export interface AuditPage {
  readonly events: readonly AuditEventView[];
  readonly next?: string;
  /**
   * Present if the search ended before the page was full: the log was searched back to this moment.
   */
  readonly searchedToMs?: number;
}

export interface PeopleApi {
  'GET /api/organizations/:organization/members': { query: Empty; response: { members: readonly MemberView[] } };
  /**
   * An invitation with its link, whether or not the address has an account. If an operator asks, an
   * existing account is added instead, once the request confirms with `known` that it belongs to
   * the person.
   */
  'POST /api/organizations/:organization/members': {
    body: { email: string; role: 'owner' | 'member'; known?: true };
    response: { member: MemberView; link?: LinkView };
  };
  'PATCH /api/organizations/:organization/members/:user': { body: { role: 'owner' | 'member' }; response: MemberView };
  /**
   * Revokes the member's active keys or hands them to an owner: to the user `keysTo`, or with
   * `revokeKeys: false` to the caller.
   */
  'DELETE /api/organizations/:organization/members/:user': {
    body: { revokeKeys?: boolean; keysTo?: string };
    response: Empty;
  };
  /** A new link for a pending invitation. The former link stops working. */
  'POST /api/organizations/:organization/members/:user/invitation': { body: Empty; response: LinkView };
  'GET /api/organizations/:organization/audit': { query: AuditFilter & { before?: string }; response: AuditPage };
}
