import type { ListChangeView } from '#contract/people.ts';
import type { AuditField } from '#contract/shown-settings.ts';

/** Actor of a change, for the audit log. */
export interface Actor {
  /** Email address of a user, or user@host of a command line. */
  readonly actor: string;
  /** Absent: an operator's command line, or the service itself. */
  readonly userId?: string;
  readonly address?: string;
}

export type AuditAction =
  | 'organization.created'
  | 'organization.updated'
  | 'organization.suspended'
  | 'organization.resumed'
  | 'organization.credited'
  /** Changed settings of automatic top-up, or a changed saved card. */
  | 'organization.automatic_top_up'
  /** A dead letter was charged. */
  | 'charge.retried'
  | 'charge.forgiven'
  | 'ledger.epoch_renewed'
  | 'key.created'
  | 'key.updated'
  | 'key.revoked'
  | 'key.replaced'
  /** The key was handed to another member, because its creator left. */
  | 'key.handed_over'
  | 'user.created'
  /** Added to an organization. */
  | 'user.added'
  | 'user.role_changed'
  /** Removed from an organization. */
  | 'user.removed'
  | 'user.disabled'
  | 'user.enabled'
  /** A link to set a password was created. */
  | 'user.invited'
  | 'user.reset'
  /** A reset was requested by mail, by somebody who knows the address. */
  | 'user.reset_asked'
  | 'user.password_set'
  | 'user.signed_in'
  /** The password was wrong. The limit of sign-in attempts bounds these events. */
  | 'user.sign_in_failed'
  | 'user.signed_out'
  | 'user.identity_bound'
  | 'user.identity_removed'
  | 'user.operator_changed'
  | 'user.sign_in_link'
  | 'alerts.updated'
  /** The signing secret of the webhook was replaced. */
  | 'alerts.secret_replaced'
  | 'view.created'
  | 'view.updated'
  | 'view.deleted';

export type AuditValue = string | number | boolean | null | readonly string[];

/** The values before and after. If a list stays a list, only the difference. */
export type AuditChange = readonly [before: AuditValue, after: AuditValue] | ListChangeView;

/** Changes by field. Amounts: nano-dollars as text; moments: Unix milliseconds; absent: null. */
export type AuditChanges = { readonly [Field in AuditField]?: AuditChange };

export interface AuditEvent {
  readonly action: AuditAction;
  /** Absent: the event is not about one organization. */
  readonly organizationId?: string;
  /** Subject of the change, with its name at that time. Absent id: the user does not exist. */
  readonly subjectId?: string;
  readonly subjectName: string;
  /** Never contains a secret. */
  readonly changes: AuditChanges;
}

/** Shown to customers in place of an operator's email, machine account and network address. */
export const THE_OPERATOR = 'the operator';

/**
 * SQL for a user's name as members of the organization see it. Operators, and former operators by
 * claim, are shown without their address unless they are members.
 */
export function nameForMembers(user: string, organizationId: string): string {
  return `case when (${user}.is_operator or ${user}.operator_by_claim) and not exists (
        select from memberships m where m.user_id = ${user}.id and m.organization_id = ${organizationId}
      ) then '${THE_OPERATOR}' else ${user}.email end`;
}

/** A person who is not proved to be a user. */
export const SOMEBODY = 'somebody';

/** Actor of payments, refunds and disputes. Customers see this name. */
export const STRIPE = 'Stripe';
