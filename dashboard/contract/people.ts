import type { Empty } from './empty.ts';

export interface MemberView {
  /** While `invited` of nobody: the user's, if accepting makes one. */
  readonly userId: string;
  readonly email: string;
  readonly role: 'owner' | 'member';
  /** Has not accepted the invitation, or not set a password yet. */
  readonly invited: boolean;
  readonly disabled: boolean;
  readonly createdAtMs: number;
  readonly lastSignedInAtMs?: number;
  /** Keys of the organization that belong to this member, who made them or to whom they were handed, and that work now. */
  readonly activeKeys: number;
}

/** A link that sets a password or accepts an invitation, once: to be handed to the person it is for. */
export interface LinkView {
  readonly url: string;
  readonly expiresAtMs: number;
}

/** A change of a list: its added and removed members, and the number of those that the event has no room for. Null: no list. */
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
  /** Events of earlier releases have whole lists, before and after. */
  readonly changes: Readonly<Record<string, readonly [before: unknown, after: unknown] | ListChangeView>>;
}

/** What is left out is everything. */
export interface AuditFilter {
  /** Part of the actor's name as it is shown; upper and lower case are the same. */
  readonly actor?: string;
  readonly action?: string;
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

export interface AuditPage {
  readonly events: readonly AuditEventView[];
  readonly next?: string;
  /** Given where the search was broken off before the page was full: so far back everything was looked at. */
  readonly searchedToMs?: number;
}

export interface PeopleApi {
  'GET /api/organizations/:organization/members': { query: Empty; answer: { members: readonly MemberView[] } };
  /**
   * An invitation with its link, whether or not the address has an account. For operators alone an account makes a difference: it is added, by
   * one who says that it is `known` to be that person's.
   */
  'POST /api/organizations/:organization/members': {
    body: { email: string; role: 'owner' | 'member'; known?: true };
    answer: { member: MemberView; link?: LinkView };
  };
  'PATCH /api/organizations/:organization/members/:user': { body: { role: 'owner' | 'member' }; answer: MemberView };
  /**
   * Keys that work and belong to the member are revoked with it, or handed to an owner: whom `keysTo` names by user id, or who asks, with
   * `revokeKeys: false`.
   */
  'DELETE /api/organizations/:organization/members/:user': {
    body: { revokeKeys?: boolean; keysTo?: string };
    answer: Empty;
  };
  /** A new link for somebody who was invited and has not come yet; the former one is worth nothing any more. */
  'POST /api/organizations/:organization/members/:user/invitation': { body: Empty; answer: LinkView };
  'GET /api/organizations/:organization/audit': { query: AuditFilter & { before?: string }; answer: AuditPage };
}
