import { MAX_CONCURRENCY, MAX_NAME_CHARACTERS, MAX_TOKENS_PER_MINUTE } from '#core/field-bounds.ts';
import { DEFAULT_CONCURRENCY } from '#core/principal.ts';
import type { Empty } from './empty.ts';
import type { Change, Settings } from './setting.ts';

export interface OrganizationView {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: string;
  /** The sum of all holds, as the gateway processes reported it seconds ago. */
  readonly heldNanoUsd: string;
  readonly totalCreditsNanoUsd: string;
  readonly totalUsageNanoUsd: string;
  readonly spentTodayNanoUsd: string;
  readonly limits: OrganizationLimits;
  /** Absent where it would mean nothing. */
  readonly forecast?: BalanceForecast;
  /** Absent: the models' own prices. */
  readonly priceList?: string;
}

/** The end of the balance at the mean rate of the last 7 days. */
export interface BalanceForecast {
  readonly averageDayNanoUsd: string;
  readonly endsAtMs: number;
}

/** Absent limits do not apply. */
export interface OrganizationLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly dailyBudgetNanoUsd?: string;
  readonly maxTokens?: number;
  readonly concurrency: number;
  readonly allowMultipleCompletions: boolean;
}

/** What operators set of an organization. */
export interface OrganizationSettings extends OrganizationLimits {
  readonly name: string;
  readonly priceList?: string;
}

export type OrganizationChangeInput = Change<OrganizationSettings>;

export const ORGANIZATION_SETTINGS: Settings<OrganizationSettings> = {
  name: { kind: 'text', label: 'Name', max: MAX_NAME_CHARACTERS },
  requestsPerMinute: {
    kind: 'count',
    label: 'Requests per minute',
    none: 'unlimited',
    placeholder: 'Unlimited',
    brief: '{} request(s) a minute',
  },
  tokensPerMinute: {
    kind: 'count',
    label: 'Tokens per minute',
    none: 'unlimited',
    placeholder: 'Unlimited',
    max: MAX_TOKENS_PER_MINUTE,
    brief: '{} token(s) a minute',
  },
  dailyBudgetNanoUsd: {
    kind: 'money',
    label: 'Daily budget',
    none: 'unlimited',
    placeholder: 'Unlimited',
    hint: 'Resets at 00:00 UTC.',
    brief: '{} a day',
  },
  maxTokens: {
    kind: 'count',
    label: 'Output tokens a request',
    none: 'unlimited',
    hint: 'The cap of max_tokens.',
    placeholder: 'That of the model',
    brief: '{} output tokens a request',
  },
  concurrency: {
    kind: 'count',
    label: 'Concurrency',
    hint: 'Requests at once. More are refused until one ends.',
    placeholder: String(DEFAULT_CONCURRENCY),
    max: MAX_CONCURRENCY,
    brief: '{} request(s) at once',
  },
  allowMultipleCompletions: {
    kind: 'yes-no',
    label: 'Several completions in one request',
    hint: 'Without it, n above 1 is refused with n_not_allowed.',
    brief: 'several completions a request',
  },
  priceList: {
    kind: 'choice',
    label: 'Price list',
    none: 'none',
    hint: 'Requests that arrive from now on have its prices.',
    brief: 'Price list {}',
  },
};

/** What owners set of their organization. */
export interface OwnSettings {
  readonly name: string;
  readonly legalName?: string;
  readonly billingAddress?: string;
  readonly taxId?: string;
  readonly billingEmail?: string;
}

export const OWN_SETTINGS: Settings<OwnSettings> = {
  name: ORGANIZATION_SETTINGS.name,
  legalName: { kind: 'text', label: 'Legal name', none: 'none', max: 140, hint: 'As it has to be on an invoice.' },
  billingAddress: { kind: 'text', label: 'Billing address', none: 'none', max: 300 },
  taxId: { kind: 'text', label: 'VAT or tax ID', none: 'none', max: 50, placeholder: 'DE123456789' },
  billingEmail: { kind: 'text', label: 'Billing email', none: 'none', max: 320, hint: 'Gets invoices and receipts.' },
};

export interface OrganizationApi {
  'GET /api/organizations/:organization/settings': { query: Empty; response: OwnSettings };
  'PATCH /api/organizations/:organization/settings': { body: Change<OwnSettings>; response: OwnSettings };
  'GET /api/organizations/:organization': { query: Empty; response: OrganizationView };
}
