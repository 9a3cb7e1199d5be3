import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { BrandConfig } from '#core/config/brand.ts';
import type { MailConfig } from '#core/config/dashboard-config.ts';
import type { Log } from '#core/log/log.ts';
import { findAlertSettings } from '#database/alerts/alert-settings.ts';
import { type AttemptResult, endAttempt, type LeasedMessage, leaseMessages } from '#database/alerts/outbox.ts';
import { type Background, repeat } from '../background/repeat.ts';
import type { Database } from '../fairness/stores.ts';
import type { PrivateNetworks } from './checked-lookup.ts';
import { textOf } from './link-mail.ts';
import { sendMail } from './mail-transport.ts';
import { slackBody, webhookBody } from './message-texts.ts';
import { sendWebhook } from './webhook-request.ts';

export interface DeliverySettings {
  readonly mail?: MailConfig;
  /** URL of the dashboard. Absent: mails about alerts contain no link. */
  readonly url?: URL;
  readonly brand: BrandConfig;
  readonly privateNetworks: PrivateNetworks;
}

const EVERY_MS = 1_000;
/**
 * Messages that are sent at once, one to each receiver. So an organization's slow receivers occupy
 * at most as many slots as it has receivers.
 */
const MAX_AT_ONCE = 32;
const CLOSE_MS = 3_000;

/** Sends the messages in the outbox, concurrently with other dashboards. */
export function deliverOutbox(database: Database, settings: () => DeliverySettings, log: Log): Background {
  const sending = new Set<Promise<void>>();
  const deliver = async (message: LeasedMessage): Promise<void> => {
    const result = await attempt(database, message, settings());
    const { messageId, channel, kind, attempt: number } = message;
    if (result.kind === 'failed')
      log.warn({ messageId, channel, kind, attempt: number, result: result.text }, 'a message was not delivered');
    await endAttempt(database, message, result);
  };
  const reading = repeat(EVERY_MS, log, 'the outbox cannot be read', async () => {
    const free = MAX_AT_ONCE - sending.size;
    if (free <= 0) return;
    for (const message of await leaseMessages(database, free)) {
      const one = deliver(message)
        // The lease then expires, and the message is sent again.
        .catch((error: unknown) => log.warn({ err: error }, 'the result of a message was not stored'))
        .finally(() => sending.delete(one));
      sending.add(one);
    }
  });
  return {
    async close() {
      await reading.close();
      await Promise.race([Promise.all(sending), sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

async function attempt(database: Database, message: LeasedMessage, settings: DeliverySettings): Promise<AttemptResult> {
  const began = performance.now();
  const result = await (message.channel === 'mail'
    ? byMail(database, message, settings)
    : byWebhook(database, message, settings));
  return { ...result, tookMs: performance.now() - began };
}

type Result = Pick<AttemptResult, 'kind' | 'text'>;

async function byMail(
  database: Database,
  message: LeasedMessage,
  { mail, url, brand: { name } }: DeliverySettings,
): Promise<Result> {
  if (mail === undefined) return { kind: 'failed', text: 'no mail server is configured' };
  const text = await textOf(database, message, url);
  if (text === undefined) return { kind: 'cancelled', text: 'there is nothing to send any more' };
  const subject = name === undefined ? text.subject : `${name}: ${text.subject}`;
  return sendMail(mail, { to: message.receiver, messageId: message.messageId, ...text, subject });
}

async function byWebhook(database: Database, message: LeasedMessage, settings: DeliverySettings): Promise<Result> {
  const { webhook } = await findAlertSettings(database, message.receiver);
  const { channel } = message;
  // A webhook of another kind counts as another receiver.
  if (webhook?.kind !== channel) return { kind: 'cancelled', text: 'there is no such webhook any more' };
  const body = channel === 'slack' ? slackBody(message, settings.url) : webhookBody(message);
  if (body === undefined) return { kind: 'cancelled', text: 'there is nothing to send any more' };
  const now = new Date();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'inference-gateway',
    'webhook-id': message.messageId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(webhook.secret).sign(message.messageId, now, body),
  };
  return sendWebhook({ url: webhook.url, headers, body }, settings.privateNetworks);
}
