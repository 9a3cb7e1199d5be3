import { z } from 'zod';
import { idOf } from '#contract/fields.ts';
import {
  type AutomaticTopUpView,
  automaticTopUpChange,
  type TopUpsView,
  type TopUpView,
  topUp,
} from '#contract/top-ups.ts';
import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { NANO_PER_USD, nanoUsdOfCents } from '#core/money.ts';
import { pageOf } from '#core/page-of.ts';
import { present } from '#core/present.ts';
import { findMember } from '#database/members/member-rows.ts';
import { findOrganization } from '#database/organizations/organization-rows.ts';
import { findPaymentAccount, forgetCard, setAutomaticTopUp } from '#database/payments/payment-accounts.ts';
import { listTopUps, paidSession, stateOfTopUp, type TopUpRecord } from '#database/payments/top-ups.ts';
import {
  conflictingField,
  isProblem,
  notFound,
  type Problem,
  problem,
  unavailable,
  wrongField,
} from '../http/problem.ts';
import { actorOf, type OrganizationCall, type Route, route } from '../http/route.ts';
import { beginSavingCard, beginTopUp, type CheckoutFor, invoiceUrlOf } from '../payments/checkout.ts';
import { detachUnusedCards } from '../payments/follow-session.ts';
import { checkTopUp } from '../payments/open-payments.ts';
import { isStripeAway, isStripeError, stripeClient } from '../payments/stripe-client.ts';

const PAGE_ROWS = 20;

export const TOP_UP_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/top-ups', {
    access: 'owner',
    input: z.strictObject({ before: idOf('top').exactOptional() }),
    handle: ({ deps, organizationId, input }) => topUpsView(deps, organizationId, input.before),
  }),
  route('POST /api/organizations/:organization/top-ups', {
    access: 'owner',
    input: topUp,
    handle: (call) =>
      atStripe(call, 'Nothing was paid.', async (stripe) => {
        const wrong = outside('amountUsd', call.input.amountUsd, stripe);
        if (wrong) return wrong;
        const work = await checkoutFor(call);
        return isProblem(work) ? work : beginTopUp(stripe, work, call.input.amountUsd);
      }),
  }),
  route('POST /api/organizations/:organization/top-ups/:topUp/check', {
    access: 'owner',
    async handle({ deps, organizationId, params: { topUp = '' } }) {
      if ((await stateOfTopUp(deps.database, organizationId, topUp)) === undefined) return notFound('top-up');
      const { stripe } = deps.settings();
      if (stripe === undefined) return NOT_CONFIGURED;
      await checkTopUp(stripe, deps, organizationId, topUp);
      return {};
    },
  }),
  route('POST /api/organizations/:organization/top-ups/:topUp/invoice', {
    access: 'owner',
    handle: (call) =>
      atStripe(call, 'Try again in a minute.', async (stripe) => {
        const { deps, organizationId, params } = call;
        const session = await paidSession(deps.database, organizationId, params.topUp);
        if (session === undefined) return notFound('top-up');
        const url = await invoiceUrlOf(stripe, session, deps.log);
        return url ? { url } : problem('conflict', 'Stripe has no invoice for this payment.');
      }),
  }),
  route('POST /api/organizations/:organization/card', {
    access: 'owner',
    handle: (call) =>
      atStripe(call, 'Nothing was paid.', async (stripe) => {
        const work = await checkoutFor(call);
        return isProblem(work) ? work : beginSavingCard(stripe, work);
      }),
  }),
  route('DELETE /api/organizations/:organization/card', {
    access: 'owner',
    async handle(call) {
      const { database, settings, log } = call.deps;
      await forgetCard(database, call.organizationId, actorOf(call));
      const { stripe } = settings();
      if (stripe) await detachUnusedCards({ stripe: await stripeClient(stripe), database, log }, call.organizationId);
      return {};
    },
  }),
  route('PUT /api/organizations/:organization/automatic-top-up', {
    access: 'owner',
    // Charges continue after the session has ended.
    needsFreshPassword: ({ settings }) => settings !== undefined,
    input: automaticTopUpChange,
    async handle(call) {
      const given = call.input.settings;
      const { stripe } = call.deps.settings();
      if (given !== undefined && stripe === undefined) return NOT_CONFIGURED;
      const wrong = given && stripe && (outside('settings', given.amountUsd, stripe) ?? tooSmallDay(given));
      if (wrong) return wrong;
      const { deps, organizationId } = call;
      const isSet = await setAutomaticTopUp(deps.database, organizationId, given && stored(given), actorOf(call));
      return isSet ? {} : conflictingField('settings', 'Save a card first.');
    },
  }),
];

const EMAIL_PARAMETERS = ['email', 'customer_email'];
/** Stripe's rules are narrower than ours: an address in a local network is none there. */
const EMAIL_REFUSED = problem(
  'conflict',
  'Stripe does not accept the email address. Set another billing email in Settings, then try again.',
);

/** Does work that needs Stripe. If Stripe does not respond, the refusal contains this advice. */
async function atStripe<T>(
  { deps }: OrganizationCall,
  advice: string,
  work: (stripe: StripeConfig) => Promise<T | Problem>,
): Promise<T | Problem> {
  const { stripe } = deps.settings();
  if (stripe === undefined) return NOT_CONFIGURED;
  try {
    return await work(stripe);
  } catch (error) {
    if (isStripeAway(error)) return unavailable(`Stripe does not respond at the moment. ${advice}`);
    if (!isStripeError(error)) throw error;
    if (error.param !== undefined && EMAIL_PARAMETERS.includes(error.param)) return EMAIL_REFUSED;
    deps.log.error(
      { error: error.message },
      'Stripe refuses payments.stripe.secret_key, or it lacks a right, or the account is not ready',
    );
    return unavailable(`Stripe refuses requests of this gateway: tell its operator. ${advice}`);
  }
}

function outside(field: string, amountUsd: number, { leastUsd, mostUsd }: StripeConfig): Problem | undefined {
  if (amountUsd >= leastUsd && amountUsd <= mostUsd) return undefined;
  return wrongField(field, `An amount from ${leastUsd} to ${mostUsd} USD.`);
}

function tooSmallDay({ amountUsd, dailyUsd }: AutomaticTopUpView): Problem | undefined {
  return dailyUsd < amountUsd ? wrongField('settings', 'A day must allow at least one payment.') : undefined;
}

function stored({ belowUsd, amountUsd, dailyUsd }: AutomaticTopUpView) {
  return {
    belowNanoUsd: BigInt(belowUsd) * NANO_PER_USD,
    amountCents: BigInt(amountUsd) * 100n,
    dailyCents: BigInt(dailyUsd) * 100n,
  };
}

async function checkoutFor(call: OrganizationCall): Promise<CheckoutFor | Problem> {
  const { deps, organizationId, session, caller } = call;
  const organization = await findOrganization(deps.database, organizationId);
  if (!organization) return notFound('organization');
  const { id: userId, email } = session.user;
  const isMember = call.role !== 'operator' || (await findMember(deps.database, organizationId, userId)) !== undefined;
  return {
    database: deps.database,
    organizationId,
    organizationName: organization.name,
    billing: organization,
    userId,
    ...(isMember ? { email } : {}),
    origin: caller.origin,
    nowMs: deps.nowMs(),
  };
}

const NOT_CONFIGURED = problem('conflict', 'Payments are not set up here. Ask your operator for credit.');

async function topUpsView(
  { database, settings }: OrganizationCall['deps'],
  organizationId: string,
  before: string | undefined,
): Promise<TopUpsView> {
  const { stripe } = settings();
  const query = { organizationId, limit: PAGE_ROWS + 1, ...present({ before }) };
  const [account, rows] = await Promise.all([
    findPaymentAccount(database, organizationId),
    listTopUps(database, query),
  ]);
  const { rows: shown, ...rest } = pageOf(rows, PAGE_ROWS, ({ id }) => id);
  const { card, automatic, stopped } = account ?? {};
  return {
    ...(stripe && { offer: { presetsUsd: stripe.presetsUsd, leastUsd: stripe.leastUsd, mostUsd: stripe.mostUsd } }),
    ...present({ card, stopped }),
    ...(automatic && {
      automatic: {
        belowUsd: Number(automatic.belowNanoUsd / NANO_PER_USD),
        amountUsd: Number(automatic.amountCents / 100n),
        dailyUsd: Number(automatic.dailyCents / 100n),
      },
    }),
    topUps: shown.map((topUp) => viewOf(topUp, stripe?.invoices === true)),
    ...rest,
  };
}

function viewOf({ amountCents, returnedCents, ...others }: TopUpRecord, hasInvoices: boolean): TopUpView {
  const { state, automatic } = others;
  return {
    ...others,
    ...(hasInvoices && state === 'paid' && !automatic ? { hasInvoice: true } : {}),
    amountNanoUsd: nanoUsdOfCents(amountCents).toString(),
    returnedNanoUsd: nanoUsdOfCents(returnedCents).toString(),
  };
}
