import { z } from 'zod';
import { type Empty, email, idOf, memberRole, momentField, textField } from './fields.ts';

export const newMember = z.strictObject({ email, role: memberRole, known: z.literal(true).exactOptional() });
export const changedMember = z.strictObject({ role: memberRole });
export const removedMember = z.strictObject({
  revokeKeys: z.boolean().exactOptional(),
  keysTo: idOf('usr').exactOptional(),
});

/** Absent fields do not filter. */
export const auditFilter = z.strictObject({
  /** Part of the displayed actor name. Case is ignored. */
  actor: textField.exactOptional(),
  action: z
    .string()
    .regex(/^[a-z_]{1,40}\.[a-z_]{1,40}$/, { error: 'An action such as key.revoked.' })
    .exactOptional(),
  fromMs: momentField.exactOptional(),
  /** Exclusive. */
  toMs: momentField.exactOptional(),
});
export type AuditFilter = Readonly<z.infer<typeof auditFilter>>;
export const auditPageInput = auditFilter.extend({ before: idOf('evt').exactOptional() });
export const everyAuditInput = auditPageInput.extend({ organization: idOf('org').exactOptional() });
export const everyAuditFilter = everyAuditInput.omit({ before: true });

export interface MemberView {
  /** For an invited person without an account: the id that their user will have. */
  readonly userId: string;
  readonly email: string;
  readonly role: 'owner' | 'member';
  /** The person has not accepted the invitation, or has not set a password yet. */
  readonly invited: boolean;
  readonly disabled: boolean;
  /** Start of the membership. */
  readonly createdAtMs: number;
  readonly lastSignedInAtMs?: number;
  /** Number of active keys of the organization that belong to this member. */
  readonly activeKeys: number;
}

/** A link that sets a password or accepts an invitation once. */
export interface LinkView {
  /** The caller hands the link to the person. Absent: the link was mailed. */
  readonly url?: string;
  readonly expiresAtMs: number;
}

/**
 * A change of a list: added and removed members, and the numbers of those that the event has no
 * room for. Null: there was no list.
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
  /** Names of the organization's keys by which a saved view filters, by id. */
  readonly keyNames?: Readonly<Record<string, string>>;
}

export interface AuditPage {
  readonly events: readonly AuditEventView[];
  readonly next?: string;
  /** Present if the search ended early: the log was searched back to this time. */
  readonly searchedToMs?: number;
}

export interface PeopleApi {
  'GET /api/organizations/:organization/members': { query: Empty; response: { members: readonly MemberView[] } };
  /**
   * Creates an invitation with its link, whether or not the address has an account. For an
   * operator, an existing account is added instead, once the request confirms with `known` that it
   * belongs to the person.
   */
  'POST /api/organizations/:organization/members': {
    body: z.infer<typeof newMember>;
    response: { member: MemberView; link?: LinkView };
  };
  'PATCH /api/organizations/:organization/members/:user': { body: z.infer<typeof changedMember>; response: MemberView };
  /**
   * Removes a member. Their active keys are revoked, or handed to an owner: the user `keysTo`, or
   * the caller with `revokeKeys: false`.
   */
  'DELETE /api/organizations/:organization/members/:user': {
    body: z.infer<typeof removedMember>;
    response: Empty;
  };
  /** Makes a new link for a pending invitation. The former link stops working. */
  'POST /api/organizations/:organization/members/:user/invitation': { body: Empty; response: LinkView };
  'GET /api/organizations/:organization/audit': { query: z.infer<typeof auditPageInput>; response: AuditPage };
}
