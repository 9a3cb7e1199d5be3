import { countOf } from '#core/count-of.ts';
import { NANO_PER_USD, usdNumber } from '#core/money.ts';
import type { LeasedMessage, MessageContent } from '#database/alerts/outbox.ts';

/** Texts of mails, by kind of message. Customers' names in them are kept on one line. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
}

type Texts = (content: Values) => MailText;

/** Values of the content, as text without line breaks. */
type Values = (name: string) => string;

const NANO_USD = '_nano_usd';
const NANO_PER_CENT = NANO_PER_USD / 100n;
const MAX_VALUE = 200;
const MAX_URL = 2048;

const TEXTS: Readonly<Record<string, Texts>> = {
  test: () => ({ subject: 'Test of alerts', text: 'This is a test. Alerts of your organization arrive here.' }),
  'operators.test': () => ({ subject: 'Test of alerts', text: 'This is a test. Alerts for operators arrive here.' }),
  'balance.low': (value) => ({
    subject: `Balance below ${usd(value('threshold_nano_usd'))}`,
    text: `The balance is ${usd(value('balance_nano_usd'))}. Requests that cost more are refused. Owners add credit on the credits page.`,
  }),
  'key.budget': (value) => ({
    subject: `${value('percent')} % of a key's ${value('budget')} budget is spent`,
    text: `The key “${value('key_name')}” (${value('key_id')}) has spent ${usd(value('spent_nano_usd'))} of ${usd(value('budget_nano_usd'))}.${noteOf(value)}`,
  }),
  'key.expires': (value) => ({
    subject: 'A key expires within 7 days',
    text: `The key “${value('key_name')}” (${value('key_id')}) expires on ${moment(value('expires_at'))}. Requests then get 401 key_expired, unless it is extended or replaced on the page “API keys” before.${noteOf(value)}`,
  }),
  'top_up.failed': (value) => ({
    subject: 'A top-up failed',
    text:
      value('automatic') === 'true'
        ? `An automatic top-up of ${usd(value('amount_nano_usd'))} failed. No further one is tried before an owner replaces the card, or presses “Try again”, on the credits page.`
        : `A top-up of ${usd(value('amount_nano_usd'))} failed. No credit was added.`,
  }),
  invitation: (value) => ({
    subject: `Invitation to ${value('organization')}`,
    text: `You are invited to “${value('organization')}”. This link lets you in until ${moment(value('until'))}, once:\n\n${value('url')}`,
  }),
  account: (value) => ({
    subject: 'Your account',
    text: `An account was made for you. This link sets its password until ${moment(value('until'))}, once:\n\n${value('url')}`,
  }),
  forgotten: (value) => ({
    subject: 'Your new password',
    text: `Somebody asked for a new password for your account. This link sets it until ${moment(value('until'))}, once, and signs you out everywhere else:\n\n${value('url')}\n\nIf it was not you, do nothing: your password stays as it is.`,
  }),
  reset: (value) => ({
    subject: 'A new password',
    text: `An operator made this link for you. It sets a new password until ${moment(value('until'))}, once:\n\n${value('url')}\n\nThe former link is not valid any more.`,
  }),
  'provider.out_of_funds': (value) => ({
    subject: `A provider says that your account has no funds: ${value('provider')}`,
    text: `${value('provider')} refused a request because of your account's money or quota. Pay the provider, or take it out of the mapping.`,
  }),
  'ledger.losses': (value) => ({
    subject: 'There are losses',
    text: `${countOf(Number(value('count')), 'loss', 'losses')} of ${usd(value('nano_usd'))} in the last hour. \`ledger losses\` lists them.`,
  }),
  'ledger.dead_letters': (value) => ({
    subject: 'There are dead letters',
    text: `The ledger has refused ${countOf(Number(value('count')), 'charge')}. \`ledger dead-letters list\` shows them.`,
  }),
  'payments.no_event': (value) => ({
    subject: 'Stripe sends no events',
    text: `${countOf(Number(value('count')), 'payment')} of the last day had to be read without an event. Check the webhook endpoint at Stripe, unless the dashboard was away: until it works, refunds and disputes are found up to a day late.`,
  }),
  'models.check': (value) => ({
    subject: 'Models differ from the model catalogue',
    text: `${countOf(Number(value('count')), 'difference')}, in ${value('models')}. \`models check\` and the page "Model mapping" show them.`,
  }),
  'models.unknown_tier': (value) => ({
    subject: `A service tier without a price: ${value('model')}`,
    text: `A provider served ${value('model')} at the service tier "${value('tier')}", which neither the prices of the model nor the costs of the target have. It is charged as the tier that was asked for. Add the tier to \`service_tiers\`, or keep the provider from choosing it.`,
  }),
  'spool.waiting': (value) => ({
    subject: 'Charges are waiting for PostgreSQL',
    text: `${countOf(Number(value('charges')), 'charge has', 'charges have')} waited for PostgreSQL for more than 5 s. \`doctor\` says where.`,
  }),
};

function noteOf(value: Values): string {
  const note = value('key_note');
  return note === '' ? '' : ` Its note: “${note}”.`;
}

/** Values that customers write. */
const OF_CUSTOMERS: ReadonlySet<string> = new Set(['organization', 'key_name', 'key_note']);

function wordsOf(name: string, value: MessageContent[string] | undefined): string {
  if (name === 'url') return oneLine(value, MAX_URL);
  return OF_CUSTOMERS.has(name) ? withoutLinks(oneLine(value)) : oneLine(value);
}

export function mailText({ kind, content }: Pick<LeasedMessage, 'kind' | 'content'>): MailText | undefined {
  const text = TEXTS[kind]?.((name) => wordsOf(name, content[name]));
  return text && { subject: text.subject, text: `${text.text}\n` };
}

/** The page on which the receiver of an alert can act. */
const PAGES: Readonly<Record<string, string>> = {
  test: 'alerts',
  'balance.low': 'credits',
  'key.budget': 'keys',
  'key.expires': 'keys',
  'top_up.failed': 'credits',
};

/** Names the organization, as people may be members of several, and links to the alert's page. */
export function alertText(
  message: Pick<LeasedMessage, 'kind' | 'content' | 'organizationId' | 'organizationName'>,
  base: URL | undefined,
): MailText | undefined {
  const { kind, organizationId, organizationName } = message;
  const text = mailText(message);
  if (text === undefined || organizationId === undefined || organizationName === undefined) return text;
  const page = PAGES[kind];
  const link = page === undefined || base === undefined ? '' : `\n${new URL(`/o/${organizationId}/${page}`, base)}\n`;
  return { subject: `${text.subject} (${wordsOf('organization', organizationName)})`, text: `${text.text}${link}` };
}

/** Body for a Slack webhook. Names cannot be markup, links or mentions. `undefined`: no text. */
export function slackBody(message: Parameters<typeof alertText>[0], base: URL | undefined): string | undefined {
  const text = alertText(message, base);
  return text && JSON.stringify({ text: escaped(`${text.subject}\n${text.text.trim()}`) });
}

/**
 * Applies Slack's own three escapes. Compatible programs such as Mattermost also parse Markdown and
 * plain mentions, for which Slack has no escapes, so these are broken up.
 */
function escaped(text: string): string {
  const inert = text.replaceAll('@', '@\u2060').replaceAll('](', '] (');
  return inert.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Body of a webhook (Standard Webhooks, "Payload structure"). Amounts are in USD. */
export function webhookBody({
  kind,
  content,
  createdAtMs,
}: Pick<LeasedMessage, 'kind' | 'content' | 'createdAtMs'>): string {
  const data = Object.entries(content).map(([name, value]) =>
    name.endsWith(NANO_USD)
      ? [`${name.slice(0, -NANO_USD.length)}_usd`, usdNumber(BigInt(String(value)))]
      : [name, value],
  );
  return JSON.stringify({ type: kind, timestamp: new Date(createdAtMs).toISOString(), data: Object.fromEntries(data) });
}

function oneLine(value: MessageContent[string] | undefined, most = MAX_VALUE): string {
  return String(value ?? '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, most)
    .toWellFormed();
}

/**
 * Mail programs and Slack turn addresses into links. Owners choose their organization's name and
 * may invite anybody, so the name could be a link to anywhere in a mail from the operator.
 */
function withoutLinks(text: string): string {
  return text.replaceAll('://', ':\u2060//').replaceAll(/\.(?=\p{L})/gu, '.\u2060');
}

/** For example `$57.46`, rounded towards zero, so that no balance appears larger than it is. */
function usd(text: string): string {
  const nanoUsd = /^-?\d+$/.test(text) ? BigInt(text) : 0n;
  const magnitude = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const cents = magnitude / NANO_PER_CENT;
  if (cents === 0n && nanoUsd !== 0n) return nanoUsd < 0n ? 'less than $0' : 'less than $0.01';
  const dollars = (cents / 100n).toLocaleString('en-US');
  return `${nanoUsd < 0n ? '-' : ''}$${dollars}.${(cents % 100n).toString().padStart(2, '0')}`;
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** For example `24 November 2026, 13:05 UTC`, which is unambiguous everywhere. */
function moment(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? iso : `${day.format(at)}, ${at.toISOString().slice(11, 16)} UTC`;
}
