import type { Body } from '#contract/api.ts';

export type InvitedAs = 'owner' | 'member' | 'operator';

export interface InviteDraft {
  readonly email: string;
  readonly as: InvitedAs;
  readonly organizationId: string | undefined;
}

/** Operators belong to all organizations, so an earlier choice is ignored. */
export function inviteBody({ email, as, organizationId }: InviteDraft): Body<'POST /api/users'> {
  if (as === 'operator') return { email: email.trim(), operator: true };
  return { email: email.trim(), operator: false, role: as, ...(organizationId !== undefined && { organizationId }) };
}
