import type { z } from 'zod';
import { MAX_TOP_UP_USD } from '../field-bounds.ts';
import type { StripeConfig } from './dashboard-config.ts';
import { parseSiteUrl } from './network-names.ts';
import type { RuleProblem } from './problem.ts';
import { flag, list, matching, oneOf, readText, section, whole } from './schema-fields.ts';

const SECRET_KEY = 'a secret key of Stripe (sk_… or rk_…): 1 to 500 visible ASCII characters';
const WEBHOOK_SECRET =
  'the signing secret of a webhook endpoint of Stripe (whsec_…): 1 to 500 visible ASCII characters';
const USUAL_PRESETS_USD = [10, 50, 100];

export const payments = section({
  stripe: section({
    secret_key: matching(/^(?!pk_|whsec_)[\x21-\x7e]{1,500}$/, SECRET_KEY).optional(),
    webhook_secret: matching(/^(?![prs]k_)[\x21-\x7e]{1,500}$/, WEBHOOK_SECRET).optional(),
    // The ledger is in USD, and a payment in another currency would need a rate.
    currency: oneOf(['usd']).prefault('usd'),
    presets: list(whole(1, MAX_TOP_UP_USD), 1, 6, 'whole numbers of USD').optional(),
    minimum: whole(1, MAX_TOP_UP_USD).prefault(5),
    maximum: whole(1, MAX_TOP_UP_USD).prefault(5000),
    invoices: flag.prefault(true),
    api_base: readText('an http or https URL such as https://api.stripe.com, without path', parseSiteUrl).prefault(
      'https://api.stripe.com',
    ),
  }).optional(),
});

type PaymentsEntry = z.output<typeof payments>;

const AT = ['payments', 'stripe'];

export function checkPayments(entry: PaymentsEntry | undefined): RuleProblem[] {
  if (entry?.stripe === undefined) return [];
  const { secret_key, webhook_secret, presets, minimum, maximum } = entry.stripe;
  return [
    ...(secret_key === undefined ? [{ path: [...AT, 'secret_key'], message: `is required: ${SECRET_KEY}` }] : []),
    ...(webhook_secret === undefined
      ? [{ path: [...AT, 'webhook_secret'], message: `is required: ${WEBHOOK_SECRET}` }]
      : []),
    ...(minimum > maximum ? [{ path: [...AT, 'minimum'], message: `must be at most maximum (${maximum})` }] : []),
    ...(presets ?? []).flatMap((preset, at) =>
      preset < minimum || preset > maximum
        ? [{ path: [...AT, 'presets', at], message: `must be from minimum to maximum (${minimum} to ${maximum})` }]
        : [],
    ),
  ];
}

export function stripeOf(entry: PaymentsEntry | undefined): StripeConfig | undefined {
  if (entry?.stripe === undefined) return undefined;
  const { secret_key: secretKey, webhook_secret: webhookSecret, currency, ...bounds } = entry.stripe;
  if (secretKey === undefined || webhookSecret === undefined) return undefined;
  const { minimum: leastUsd, maximum: mostUsd, invoices, api_base: apiBase } = bounds;
  const usual = USUAL_PRESETS_USD.filter((preset) => preset >= leastUsd && preset <= mostUsd);
  const presetsUsd = bounds.presets ?? (usual.length > 0 ? usual : [leastUsd]);
  return { secretKey, webhookSecret, currency, presetsUsd, leastUsd, mostUsd, invoices, apiBase };
}
