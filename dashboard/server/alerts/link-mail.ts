import type { LinkView } from '#contract/people.ts';
import { MINUTE_MS } from '#core/clock.ts';
import { addMessage, type LeasedMessage, type NewMessage } from '#database/alerts/outbox.ts';
import type { DeliveryRecord } from '#database/alerts/outbox-rows.ts';
import { type NewInvitation, relinkInvitation } from '#database/members/invitations.ts';
import { createPasswordLink, type LinkPurpose, type PasswordLink } from '#database/sign-in/password-links.ts';
import type { Database } from '../fairness/stores.ts';
import { isProblem, type Problem, problem } from '../http/problem.ts';
import type { UserCall } from '../http/route.ts';
import { linkWith, makePasswordLink } from '../sign-in/links.ts';
import { newToken } from '../sign-in/session-token.ts';
import { alertText, type MailText, mailText, slackBody, webhookBody } from './message-texts.ts';

/**
 * Mails with a link. The link is made when the mail is sent, so that the outbox contains no token.
 * A mail that is sent again has a new link, and invalidates the former one.
 */
const PURPOSES: Readonly<Record<string, Exclude<LinkPurpose, 'sign_in'>>> = {
  invitation: 'invitation',
  account: 'invitation',
  reset: 'reset',
  forgotten: 'forgotten',
};
/** A link for a forgotten password is needed at once. Later mails are dropped. */
const FORGOTTEN_FOR_MS = 30 * MINUTE_MS;

const RETRY_SECONDS = 3_600;

export interface InvitationMail extends Pick<NewInvitation, 'organizationId' | 'id' | 'email'> {
  readonly origin: string;
}

export function invitationMail({ organizationId, id, email, origin }: InvitationMail): NewMessage {
  const content = { organization_id: organizationId, user_id: id, origin };
  return { organizationId, channel: 'mail', receiver: email, kind: 'invitation', content };
}

export interface PasswordMail extends Pick<PasswordLink, 'userId' | 'purpose' | 'email'> {
  readonly origin: string;
}

export function passwordMail({ userId, purpose, email, origin }: PasswordMail): NewMessage {
  const kind = purpose === 'invitation' ? 'account' : purpose;
  return { channel: 'mail', receiver: email, kind, content: { user_id: userId, origin } };
}

/** Sends the mail if mail is configured. Otherwise returns the link to the caller. */
export async function handOver({ deps }: UserCall, link: LinkView, mail: NewMessage): Promise<LinkView | Problem> {
  if (deps.settings().mail === undefined) return link;
  if (await addMessage(deps.database, mail)) return { expiresAtMs: link.expiresAtMs };
  const message =
    'No mail was sent: this address has received too many today, or too many are waiting. Try again tomorrow.';
  return problem('too_many_requests', message, { retryAfterSeconds: RETRY_SECONDS });
}

export async function handOverPasswordLink(
  call: UserCall,
  wanted: Omit<PasswordMail, 'origin'>,
): Promise<LinkView | Problem> {
  const link = await makePasswordLink(call, wanted);
  if (isProblem(link)) return link;
  return handOver(call, link, passwordMail({ ...wanted, origin: call.caller.origin }));
}

/** `base`: the configured URL of the dashboard. `undefined`: there is nothing left to send. */
export async function textOf(database: Database, message: LeasedMessage, base?: URL): Promise<MailText | undefined> {
  const purpose = PURPOSES[message.kind];
  if (purpose === undefined) return alertText(message, base);
  const isLate = purpose === 'forgotten' && message.ageMs > FORGOTTEN_FOR_MS;
  return isLate ? undefined : textWithLink(database, message, purpose);
}

/** The sent text, for display. `undefined`: the mail has a link, which is not shown. */
export function bodyOf(message: DeliveryRecord, base?: URL): string | undefined {
  if (message.channel === 'webhook') return webhookBody(message);
  if (message.channel === 'slack') return slackBody(message, base);
  return PURPOSES[message.kind] === undefined ? alertText(message, base)?.text : undefined;
}

async function textWithLink(
  database: Database,
  { kind, content }: LeasedMessage,
  purpose: LinkPurpose,
): Promise<MailText | undefined> {
  const { token, tokenHash } = newToken();
  const [organizationId, id] = [String(content.organization_id), String(content.user_id)];
  const made =
    kind === 'invitation'
      ? await relinkInvitation(database, { organizationId, id, tokenHash })
      : await createPasswordLink(database, { userId: id, purpose, tokenHash }, undefined);
  if (made === undefined || !('expiresAtMs' in made)) return undefined;
  const { url } = linkWith(token, made.expiresAtMs, { origin: String(content.origin) });
  const organization = 'organization' in made ? made.organization : '';
  return mailText({ kind, content: { url, organization, until: new Date(made.expiresAtMs).toISOString() } });
}
