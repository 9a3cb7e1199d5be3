import { z } from 'zod';
import { type Empty, email, idOf, memberRole, momentField, textField } from './fields.ts';

export const newMember = z.strictObject({ email, role: memberRole, known: z.literal(true).exactOptional() });
export const changedMember = z.strictObject({ role: memberRole });
export const removedMember = z.strictObject({
  revokeKeys: z.boolean().exactOptional(),
  keysTo: idOf('usr').exactOptional(),
});

/** Absent fields do not filter. */
const auditFilter = z.strictObject({
  /** Part of the shown actor name, ignoring case. */
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
    body: z.infer<typeof newMember>;
    response: { member: MemberView; link?: LinkView };
  };
  'PATCH /api/organizations/:organization/members/:user': { body: z.infer<typeof changedMember>; response: MemberView };
  /**
   * Revokes the member's active keys or hands them to an owner: to the user `keysTo`, or with
   * `revokeKeys: false` to the caller.
   */
  'DELETE /api/organizations/:organization/members/:user': {
    body: z.infer<typeof removedMember>;
    response: Empty;
  };
  /** A new link for a pending invitation. The former link stops working. */
  'POST /api/organizations/:organization/members/:user/invitation': { body: Empty; response: LinkView };
  'GET /api/organizations/:organization/audit': { query: z.infer<typeof auditPageInput>; response: AuditPage };
}
