import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type AlertChangeInput, type AlertSettingsInput, alertChange, type DeliveryView } from '#contract/alerts.ts';
import { changed } from '#contract/setting.ts';
import { MAX_ALERT_EMAILS } from '#core/field-bounds.ts';
import { mergedList } from '#core/merged-list.ts';
import { present } from '#core/present.ts';
import {
  type AlertSettings,
  changeAlertSettings,
  findAlertSettings,
  type Webhook,
} from '#database/alerts/alert-settings.ts';
import { sendOperatorsTest } from '#database/alerts/operator-crossings.ts';
import { sendTest } from '#database/alerts/organization-messages.ts';
import { sendAgain } from '#database/alerts/outbox.ts';
import { listDeliveries } from '#database/alerts/outbox-rows.ts';
import { bodyOf } from '../alerts/link-mail.ts';
import { webhookUrlProblem } from '../alerts/webhook-request.ts';
import { notFound, problem, wrongField } from '../http/problem.ts';
import { actorOf, type Deps, type Route, route } from '../http/route.ts';
import { shownAmounts, storedAmounts } from './amounts.ts';

const SECRET_BYTES = 32;

export const ALERT_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/alerts', {
    access: 'owner',
    async handle({ deps, organizationId }) {
      const settings = await findAlertSettings(deps.database, organizationId);
      const deliveries = await deliveriesOf(deps, organizationId);
      return { settings: viewOf(settings), sendsMail: deps.settings().mail !== undefined, deliveries };
    },
  }),
  route('PATCH /api/organizations/:organization/alerts', {
    access: 'owner',
    input: alertChange,
    async handle(call) {
      const { deps, organizationId, input } = call;
      const { webhookUrl: url } = input;
      const wrong = url ? webhookUrlProblem(new URL(url), deps.settings().privateNetworks) : undefined;
      if (wrong !== undefined) return wrongField('webhookUrl', `This URL is not accepted: ${wrong}.`);
      const secret = newSecret();
      let isFull = false;
      const change = (before: AlertSettings) => {
        const after = settingsAfter(before, input, secret);
        isFull = after.emails.length > MAX_ALERT_EMAILS;
        return isFull ? before : after;
      };
      const saved = await changeAlertSettings(deps.database, organizationId, change, actorOf(call));
      if (saved === undefined) return notFound('organization');
      if (isFull) return wrongField('emails', `At most ${MAX_ALERT_EMAILS} addresses, with those that others added.`);
      const { webhook } = saved;
      const isNew = webhook?.secret === secret && webhook.kind === 'webhook';
      return { settings: viewOf(saved), ...(isNew && { secret }) };
    },
  }),
  route('POST /api/organizations/:organization/alerts/secret', {
    access: 'owner',
    async handle(call) {
      const secret = newSecret();
      const change = ({ webhook, ...others }: AlertSettings) => ({
        ...others,
        ...(webhook && { webhook: { ...webhook, secret } }),
      });
      const saved = await changeAlertSettings(call.deps.database, call.organizationId, change, actorOf(call));
      return saved?.webhook === undefined ? problem('conflict', 'There is no webhook: set its URL first.') : { secret };
    },
  }),
  route('POST /api/organizations/:organization/alerts/test', {
    access: 'owner',
    async handle({ deps, organizationId }) {
      return { messages: await sendTest(deps.database, organizationId) };
    },
  }),
  route('POST /api/organizations/:organization/alerts/again', {
    access: 'owner',
    input: z.strictObject({ messageId: z.string().regex(/^msg_[0-9a-f]{32}$/, { error: 'This is not a valid id.' }) }),
    async handle({ deps, organizationId, input: { messageId } }) {
      if (await sendAgain(deps.database, organizationId, messageId)) return {};
      return problem(
        'conflict',
        'The message was not sent again: it is waiting, was sent too often, or its receiver is no longer configured.',
      );
    },
  }),
  route('GET /api/alerts', {
    access: 'operator',
    async handle({ deps }) {
      const receivers = deps.settings().mail?.operators ?? [];
      return { receivers, deliveries: await deliveriesOf(deps, undefined) };
    },
  }),
  route('POST /api/alerts/test', {
    access: 'operator',
    async handle({ deps }) {
      return { messages: await sendOperatorsTest(deps.database, deps.settings().mail?.operators ?? []) };
    },
  }),
];

async function deliveriesOf({ database, settings }: Deps, organizationId: string | undefined): Promise<DeliveryView[]> {
  const records = await listDeliveries(database, organizationId);
  return records.map((record) => {
    const { content: _, organizationId: _of, organizationName: _name, ...shown } = record;
    return { ...shown, ...present({ body: bodyOf(record, settings().url) }) };
  });
}

/** Keeps the secret only if the kind is the same. The secret of another kind was never shown. */
function keptSecret(webhook: Webhook | undefined, kind: Webhook['kind']): string | undefined {
  return webhook?.kind === kind ? webhook.secret : undefined;
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

function viewOf({ webhook, ...settings }: AlertSettings): AlertSettingsInput {
  return { ...shownAmounts(settings), ...(webhook && { webhookUrl: webhook.url, webhookKind: webhook.kind }) };
}

/** `secret` is for a webhook that has none yet. */
function settingsAfter(
  before: AlertSettings,
  { emailsBefore, ...change }: AlertChangeInput,
  secret: string,
): AlertSettings {
  const emails = change.emails && mergedList(before.emails, emailsBefore ?? before.emails, change.emails);
  const after = changed(viewOf(before), { ...change, ...present({ emails }) });
  const { webhookUrl: url, webhookKind: kind = 'webhook', ...settings } = after;
  const webhook = url === undefined ? undefined : { url, kind, secret: keptSecret(before.webhook, kind) ?? secret };
  return { ...storedAmounts(settings), ...present({ webhook }) };
}
