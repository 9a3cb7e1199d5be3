import type { ListChangeView } from '#contract/people.ts';
import type { AuditField } from '#contract/shown-settings.ts';

/** Actor of a change, for the audit log. */
export interface Actor {
  /** Name of the actor: an e-mail address, or user@host of a command line. */
  readonly actor: string;
  /** Absent: an operator's command line or the service itself. */
  readonly userId?: string;
  readonly address?: string;
}

export type AuditAction =
  | 'organization.created'
  | 'organization.updated'
  | 'organization.suspended'
  | 'organization.resumed'
  | 'organization.credited'
  /** Settings of automatic top-up, or its saved card. */
  | 'organization.automatic_top_up'
  /** Charge of a dead letter. */
  | 'charge.retried'
  | 'charge.forgiven'
  | 'key.created'
  | 'key.updated'
  | 'key.revoked'
  | 'key.replaced'
  /** The key belongs to another member now, because its maker has left. */
  | 'key.handed_over'
  | 'user.created'
  /** To an organization. */
  | 'user.added'
  | 'user.role_changed'
  /** From an organization. */
  | 'user.removed'
  | 'user.disabled'
  | 'user.enabled'
  /** A link to set a password was made. */
  | 'user.invited'
  | 'user.reset'
  /** By mail, by somebody who knows the address. */
  | 'user.reset_asked'
  | 'user.password_set'
  | 'user.signed_in'
  /** Wrong password. Bounded by the limit of attempts. */
  | 'user.sign_in_failed'
  | 'user.signed_out'
  | 'user.identity_bound'
  | 'user.identity_removed'
  | 'user.operator_changed'
  | 'user.sign_in_link'
  | 'alerts.updated'
  /** The webhook is signed with another secret now. */
  | 'alerts.secret_replaced'
  | 'view.created'
  | 'view.updated'
  | 'view.deleted';

export type AuditValue = string | number | boolean | null | readonly string[];

/** Value before and after. For a list that remains a list, only the difference. */
export type AuditChange = readonly [before: AuditValue, after: AuditValue] | ListChangeView;

/**
 * By field. Amounts are decimal text of nano-dollars, instants Unix milliseconds, what is absent is
 * null.
 */
export type AuditChanges = { readonly [Field in AuditField]?: AuditChange };

export interface AuditEvent {
  readonly action: AuditAction;
  /** Absent: not about one organization. */
  readonly organizationId?: string;
  /** Subject of the change, and its name at that time. Without an id: there is no such user. */
  readonly subjectId?: string;
  readonly subjectName: string;
  /** Never a secret. */
  readonly changes: AuditChanges;
}

/**
 * Customers read this instead of an operator's e-mail address, account on a machine, and network
 * address.
 */
export const THE_OPERATOR = 'the operator';

/**
 * The name of a user for members of an organization, as SQL: of operators, and of those by claim
 * who were, they see no address.
 */
export function nameForMembers(user: string, organizationId: string): string {
  return `case when (${user}.is_operator or ${user}.operator_by_claim) and not exists (
        select from memberships m where m.user_id = ${user}.id and m.organization_id = ${organizationId}
      ) then '${THE_OPERATOR}' else ${user}.email end`;
}

/** A person who has not proved to be a user. */
export const SOMEBODY = 'somebody';

/** Payments and what is given back. Customers read this name. */
export const STRIPE = 'Stripe';
