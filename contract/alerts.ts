import type { Empty } from './empty.ts';
import type { Settings } from './setting.ts';

/** Alerts of an organization, and their receivers. */
export interface AlertSettingsInput {
  /** Absent: no alert about the balance. Decimal text of nano-dollars. */
  readonly balanceBelowNanoUsd?: string;
  readonly keyBudgets: boolean;
  readonly keyExpiry: boolean;
  readonly topUps: boolean;
  readonly emails: readonly string[];
  readonly webhookUrl?: string;
  /** What the messages to it look like. Absent: signed JSON. */
  readonly webhookKind?: WebhookKind;
}

/** `slack`: an incoming webhook of Slack, or of another program that takes the same. */
export type WebhookKind = 'webhook' | 'slack';

export const ALERT_SETTINGS: Settings<AlertSettingsInput> = {
  balanceBelowNanoUsd: {
    kind: 'money',
    label: 'Balance below',
    none: 'no alert',
    hint: 'Empty: no alert about the balance.',
  },
  keyBudgets: { kind: 'yes-no', label: 'Budget of a key at 80% and 100%' },
  keyExpiry: { kind: 'yes-no', label: 'A key that expires within 7 days' },
  topUps: { kind: 'yes-no', label: 'A failed top-up' },
  emails: { kind: 'list', label: 'E-mail addresses' },
  webhookUrl: { kind: 'text', label: 'Webhook URL', none: 'none' },
  webhookKind: { kind: 'choice', label: 'Messages to it', none: 'none' },
};

export interface DeliveryView {
  readonly messageId: string;
  readonly channel: 'mail' | WebhookKind;
  /** Address of mail, or the organization of the webhook. */
  readonly receiver: string;
  readonly kind: string;
  readonly state: 'waiting' | 'delivered' | 'failed' | 'dropped';
  readonly createdAtMs: number;
  /** What is sent. Absent: a mail with a link, which is made when it is sent. */
  readonly body?: string;
  /** Present while it waits. */
  readonly nextAttemptAtMs?: number;
  readonly attempts: readonly DeliveryAttemptView[];
}

/** Without a result the attempt goes on, or its dashboard ended. */
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

/** Secret that a webhook is signed with, in the response that made it only. */
export interface WebhookSecretView {
  readonly secret: string;
}

export interface AlertsApi {
  'GET /api/organizations/:organization/alerts': { query: Empty; response: AlertsView };
  'PUT /api/organizations/:organization/alerts': {
    body: AlertSettingsInput;
    response: Partial<WebhookSecretView>;
  };
  'POST /api/organizations/:organization/alerts/secret': { body: Empty; response: WebhookSecretView };
  /**
   * The number of messages that wait to be sent. None: there is no receiver, a test was sent within
   * the last minute, or too many messages wait already.
   */
  'POST /api/organizations/:organization/alerts/test': { body: Empty; response: { readonly messages: number } };
  /** Sends a finished message of alerts again, to the same receiver, if that is one still. */
  'POST /api/organizations/:organization/alerts/again': { body: { messageId: string }; response: Empty };
  'GET /api/alerts': { query: Empty; response: OperatorAlertsView };
  /** As that of an organization. */
  'POST /api/alerts/test': { body: Empty; response: { readonly messages: number } };
}
