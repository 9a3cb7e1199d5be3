import {
  MAX_BILLING_ADDRESS,
  MAX_CONCURRENCY,
  MAX_EMAIL,
  MAX_LEGAL_NAME,
  MAX_NAME_CHARACTERS,
  MAX_NOTE_CHARACTERS,
  MAX_TAX_ID,
  MAX_TOKENS_PER_MINUTE,
} from '#core/field-bounds.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import type { AlertSettingsInput } from './alerts.ts';
import type { KeyRestrictions } from './keys.ts';
import type { OrganizationSettings, OwnSettings } from './organization.ts';
import type { Setting, Settings } from './setting.ts';

/** The settings as users see them, in forms, in the audit log and on pages. */

export const KEY_SETTINGS: Settings<KeyRestrictions> = {
  name: {
    kind: 'text',
    label: 'Name',
    hint: 'What uses it, for example “Backend production”.',
    max: MAX_NAME_CHARACTERS,
  },
  scopes: { kind: 'list', label: 'Scopes' },
  models: {
    kind: 'list',
    label: 'Models',
    none: 'all',
    hint: 'Leave empty to allow every model, including future ones.',
  },
  ipRanges: {
    kind: 'list',
    label: 'Addresses',
    none: 'any',
    hint: 'IP addresses and ranges that may use the key, such as 203.0.113.7 or 10.0.0.0/8. Leave empty to allow any.',
  },
  expiresAtMs: { kind: 'instant', label: 'Expires', none: 'never' },
  requestsPerMinute: { kind: 'count', label: 'Requests per minute', flag: 'rpm', none: 'unlimited', brief: '{} rpm' },
  tokensPerMinute: {
    kind: 'count',
    label: 'Tokens per minute',
    flag: 'tpm',
    none: 'unlimited',
    max: MAX_TOKENS_PER_MINUTE,
    brief: '{} tpm',
  },
  dailyBudgetNanoUsd: {
    kind: 'money',
    label: 'Daily budget',
    flag: 'daily-budget',
    none: 'unlimited',
    brief: '{}/day',
  },
  monthlyBudgetNanoUsd: {
    kind: 'money',
    label: 'Monthly budget',
    flag: 'monthly-budget',
    none: 'unlimited',
    hint: 'Per UTC month',
    brief: '{}/month',
  },
  lifetimeBudgetNanoUsd: {
    kind: 'money',
    label: 'Lifetime budget',
    flag: 'lifetime-budget',
    none: 'unlimited',
    hint: 'Total the key may ever spend',
    brief: '{} in total',
  },
  note: {
    kind: 'text',
    label: 'Note',
    none: 'none',
    hint: 'For your team, for example who to ask. Providers never see it.',
    max: MAX_NOTE_CHARACTERS,
  },
};

export const ORGANIZATION_SETTINGS: Settings<OrganizationSettings> = {
  name: { kind: 'text', label: 'Name', max: MAX_NAME_CHARACTERS },
  requestsPerMinute: {
    kind: 'count',
    label: 'Requests per minute',
    flag: 'rpm',
    none: 'unlimited',
    placeholder: 'Unlimited',
    brief: '{} request(s) a minute',
  },
  tokensPerMinute: {
    kind: 'count',
    label: 'Tokens per minute',
    flag: 'tpm',
    none: 'unlimited',
    placeholder: 'Unlimited',
    max: MAX_TOKENS_PER_MINUTE,
    brief: '{} token(s) a minute',
  },
  concurrency: {
    kind: 'count',
    label: 'Concurrency',
    flag: 'concurrency',
    hint: 'Requests running at once. More are refused until one ends.',
    default: DEFAULT_RULES.concurrency,
    placeholder: String(DEFAULT_RULES.concurrency),
    max: MAX_CONCURRENCY,
    brief: '{} request(s) at once',
  },
  dailyBudgetNanoUsd: {
    kind: 'money',
    label: 'Daily budget',
    flag: 'daily-budget',
    none: 'unlimited',
    placeholder: 'Unlimited',
    hint: 'Resets at 00:00 UTC.',
    brief: '{} a day',
  },
  maxTokens: {
    kind: 'count',
    label: 'Output tokens per request',
    flag: 'max-tokens',
    flagLabel: 'max_tokens',
    none: 'unlimited',
    hint: 'A request with a larger max_tokens is refused.',
    placeholder: 'Model limit',
    brief: '{} output tokens a request',
  },
  allowMultipleCompletions: {
    kind: 'yes-no',
    label: 'Multiple completions per request',
    flag: 'allow-n',
    flagLabel: 'n above 1',
    default: DEFAULT_RULES.allowMultipleCompletions,
    hint: 'Without it, n above 1 is refused with n_not_allowed.',
    brief: 'several completions a request',
  },
  priceList: {
    kind: 'choice',
    label: 'Price list',
    none: 'none',
    hint: 'Applies to new requests.',
    brief: 'Price list {}',
  },
};

export const OWN_SETTINGS: Settings<OwnSettings> = {
  name: ORGANIZATION_SETTINGS.name,
  legalName: {
    kind: 'text',
    label: 'Legal name',
    none: 'none',
    max: MAX_LEGAL_NAME,
    hint: 'As it should appear on invoices.',
  },
  billingAddress: { kind: 'text', label: 'Billing address', none: 'none', max: MAX_BILLING_ADDRESS },
  taxId: { kind: 'text', label: 'VAT or tax ID', none: 'none', max: MAX_TAX_ID, placeholder: 'DE123456789' },
  billingEmail: {
    kind: 'text',
    label: 'Billing email',
    none: 'none',
    max: MAX_EMAIL,
    hint: 'Gets invoices and receipts.',
  },
};

export const ALERT_SETTINGS: Settings<AlertSettingsInput> = {
  balanceBelowNanoUsd: {
    kind: 'money',
    label: 'Balance below',
    none: 'no alert',
    hint: 'Leave empty for no alert about the balance.',
  },
  keyBudgets: { kind: 'yes-no', label: 'A key has used 80% or 100% of its budget' },
  keyExpiry: { kind: 'yes-no', label: 'A key expires within 7 days' },
  topUps: { kind: 'yes-no', label: 'An automatic top-up failed' },
  emails: { kind: 'list', label: 'Email addresses' },
  webhookUrl: { kind: 'text', label: 'Webhook URL', none: 'none' },
  webhookKind: { kind: 'choice', label: 'Message format', none: 'none' },
};

/** Fields of the audit log, in order, with label and word for no value. Others do not compile. */
export const AUDIT_FIELDS = {
  email: { label: 'Email' },
  isOperator: { label: 'Operator', none: 'no' },
  role: { label: 'Role' },
  balanceNanoUsd: { label: 'Balance', none: '$0' },
  ...KEY_SETTINGS,
  ...ORGANIZATION_SETTINGS,
  ...OWN_SETTINGS,
  suspendedAtMs: { label: 'Suspended', none: 'no' },
  disabledAtMs: { label: 'Disabled', none: 'no' },
  revokedAtMs: { label: 'Revoked', none: 'no' },
  belongsTo: { label: 'Belongs to', none: 'the organization' },
  replacedBy: { label: 'Replaced by', none: 'nothing' },
  replaces: { label: 'Replaces', none: 'nothing' },
  reference: { label: 'Reference' },
  ...ALERT_SETTINGS,
  /** Only the origin of the webhook's URL, because the path may be a secret. */
  webhook: { label: 'Webhook', none: 'none' },
  card: { label: 'Card', none: 'none' },
  belowNanoUsd: { label: 'Automatic top-up below', none: 'off' },
  amountNanoUsd: { label: 'Amount', none: 'none' },
  dailyNanoUsd: { label: 'Daily cap of top-ups', none: 'none' },
  stoppedAtMs: { label: 'Automatic top-up stopped', none: 'no' },
  issuer: { label: 'Issuer', none: 'none' },
  subject: { label: 'User of the issuer', none: 'none' },
  page: { label: 'Page', none: 'none' },
  search: { label: 'Filters', none: 'none' },
  failuresWithinMinute: { label: 'Failures within the minute' },
} as const satisfies Readonly<Record<string, Pick<Setting, 'label' | 'none'>>>;

export type AuditField = keyof typeof AUDIT_FIELDS;
