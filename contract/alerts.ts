import { z } from 'zod';
import { MAX_ALERT_EMAILS } from '#core/field-bounds.ts';
import { budgetNanoUsd, changeOf, type Empty, email, yesOrNo } from './fields.ts';

const MAX_URL = 2000;

/** `slack`: an incoming webhook of Slack, or of another program that accepts the same messages. */
export type WebhookKind = z.infer<typeof webhookKind>;
const webhookKind = z.enum(['webhook', 'slack'], { error: 'Signed JSON or Slack.' });

const emails = z
  .array(email, { error: 'This must be a list of email addresses.' })
  .max(MAX_ALERT_EMAILS, { error: `At most ${MAX_ALERT_EMAILS} addresses.` })
  .transform((emails): readonly string[] => [...new Set(emails)]);

export type AlertSettingsInput = Readonly<z.infer<typeof alertSettings>>;
const alertSettings = z.strictObject({
  /** Absent: no alert about the balance. */
  balanceBelowNanoUsd: budgetNanoUsd
    .refine((amount) => BigInt(amount) > 0n, { error: 'This must be more than zero.' })
    .exactOptional(),
  keyBudgets: yesOrNo,
  keyExpiry: yesOrNo,
  topUps: yesOrNo,
  emails,
  webhookUrl: z
    .string({ error: 'This must be text.' })
    .trim()
    .max(MAX_URL, { error: `At most ${MAX_URL} characters.` })
    .refine((text) => /^https?:\/\/[\x21-\x7e]+$/.test(text) && URL.canParse(text), {
      error: 'This is not a URL such as https://example.com/alerts.',
    })
    .exactOptional(),
  /** Format of the messages to the webhook. Absent: signed JSON. */
  webhookKind: webhookKind.exactOptional(),
});

export type AlertChangeInput = z.infer<typeof alertChange>;
export const alertChange = changeOf(
  alertSettings.extend({
    /** The addresses that the change was made from. Others that were added since are kept. */
    emailsBefore: emails.exactOptional(),
  }),
);

export interface DeliveryView {
  readonly messageId: string;
  readonly channel: 'mail' | WebhookKind;
  /** Email address, or the id of the organization that has the webhook. */
  readonly receiver: string;
  readonly kind: string;
  readonly state: 'waiting' | 'delivered' | 'failed' | 'dropped';
  readonly createdAtMs: number;
  /** The message as sent. Absent for a mail with a link, which is made on sending. */
  readonly body?: string;
  /** Present while the message waits. */
  readonly nextAttemptAtMs?: number;
  readonly attempts: readonly DeliveryAttemptView[];
}

/** Without a result the attempt is in progress, or its dashboard process ended during it. */
export interface DeliveryAttemptView {
  readonly attempt: number;
  readonly beganAtMs: number;
  readonly tookMs: number | null;
  readonly result: string | null;
}

export interface AlertsView {
  readonly settings: AlertSettingsInput;
  /** False: no mail server is configured, so nothing is mailed. */
  readonly sendsMail: boolean;
  /** Newest first. */
  readonly deliveries: readonly DeliveryView[];
}

export interface OperatorAlertsView {
  /** From the configuration. */
  readonly receivers: readonly string[];
  readonly deliveries: readonly DeliveryView[];
}

/** Secret with which webhook messages are signed. Only the response that made it shows it. */
export interface WebhookSecretView {
  readonly secret: string;
}

export interface AlertsApi {
  'GET /api/organizations/:organization/alerts': { query: Empty; response: AlertsView };
  'PATCH /api/organizations/:organization/alerts': {
    body: AlertChangeInput;
    response: Partial<WebhookSecretView> & { readonly settings: AlertSettingsInput };
  };
  'POST /api/organizations/:organization/alerts/secret': { body: Empty; response: WebhookSecretView };
  /**
   * Responds with the number of messages that wait to be sent. It is 0 if there is no receiver, a
   * test was sent within the last minute, or too many messages wait already.
   */
  'POST /api/organizations/:organization/alerts/test': { body: Empty; response: { readonly messages: number } };
  /** Sends a finished alert again to the same receiver, if it still is a receiver. */
  'POST /api/organizations/:organization/alerts/again': { body: { messageId: string }; response: Empty };
  'GET /api/alerts': { query: Empty; response: OperatorAlertsView };
  'POST /api/alerts/test': { body: Empty; response: { readonly messages: number } };
}
