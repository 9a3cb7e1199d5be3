import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { present } from '#core/present.ts';
import type { BillingData } from '#database/organizations/organization-records.ts';
import { closePaymentAccount, findPaymentAccount, openPaymentAccount } from '#database/payments/payment-accounts.ts';
import { bindSession, createTopUp, failTopUp } from '#database/payments/top-ups.ts';
import type { Database } from '../fairness/stores.ts';
import type { TopUpMetadata } from './read-payment.ts';
import { isMissingAtStripe, isStripeAway, isStripeError, type StripeClient, stripeClient } from './stripe-client.ts';

/** Who pays, and where the browser returns to. */
export interface CheckoutFor {
  readonly database: Database;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly userId: string;
  /** Absent for an operator, whose address is not shown to the customer. */
  readonly email?: string;
  readonly billing: BillingData;
  /** The dashboard's origin, as the browser knows it. */
  readonly origin: string;
  readonly nowMs: number;
}

/** Begins a payment in Stripe Checkout. The top-up is stored before Stripe knows of it. */
export async function beginTopUp(
  config: StripeConfig,
  work: CheckoutFor,
  amountUsd: number,
): Promise<{ readonly id: string; readonly url: string }> {
  const { database, organizationId, userId, origin, nowMs } = work;
  const id = newId('top', nowMs);
  const amountCents = BigInt(amountUsd) * 100n;
  await createTopUp(database, { id, organizationId, amountCents, createdBy: userId });
  const stripe = await stripeClient(config);
  const page = pageOf(origin, organizationId);
  const metadata = { ...metadataOf(id, organizationId, 'false') };
  try {
    const session = await stripe.checkout.sessions.create(
      {
        mode: 'payment',
        // Otherwise Stripe may charge in the payer's currency, and the payment would not match the
        // top-up.
        adaptive_pricing: { enabled: false },
        client_reference_id: id,
        ...present({ customer_email: emailOf(work) }),
        ...(config.invoices ? invoiceWith(work.billing) : {}),
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: config.currency,
              unit_amount: Number(amountCents),
              product_data: { name: `Credit for ${work.organizationName}` },
            },
          },
        ],
        metadata,
        payment_intent_data: { metadata },
        success_url: `${page}?topUp=${id}`,
        cancel_url: page,
      },
      { idempotencyKey: id },
    );
    await bindSession(database, id, session.id);
    return { id, url: session.url ?? page };
  } catch (error) {
    await failTopUp(database, id, 'Stripe did not begin the payment.');
    throw error;
  }
}

/** Begins saving a card in Stripe Checkout. Nothing is charged. */
export async function beginSavingCard(config: StripeConfig, work: CheckoutFor): Promise<{ readonly url: string }> {
  const stripe = await stripeClient(config);
  const page = pageOf(work.origin, work.organizationId);
  const begin = async (customer: string) => {
    const session = await stripe.checkout.sessions.create({
      mode: 'setup',
      currency: config.currency,
      customer,
      success_url: `${page}?card=saved`,
      cancel_url: page,
    });
    return { url: session.url ?? page };
  };
  const customer = await customerOf(stripe, work);
  try {
    return await begin(customer);
  } catch (error) {
    if (!isMissingAtStripe(error)) throw error;
    // The customer was deleted at Stripe, or belongs to test mode or another account that the
    // operator no longer uses.
    await closePaymentAccount(work.database, work.organizationId, customer);
    return begin(await customerOf(stripe, work));
  }
}

/** Stripe asks for billing address and tax ID, and makes the invoice after the payment. */
function invoiceWith({ legalName, billingAddress, taxId }: BillingData) {
  const fields = Object.entries({ 'Billed to': legalName, 'Tax ID': taxId });
  const custom_fields = fields.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
  const invoice_data = {
    ...(custom_fields.length > 0 ? { custom_fields } : {}),
    ...present({ footer: billingAddress && `Billing address: ${billingAddress}` }),
  };
  return {
    billing_address_collection: 'required',
    tax_id_collection: { enabled: true },
    invoice_creation: { enabled: true, invoice_data },
  } as const;
}

/** URL of a paid session's invoice, read each time: Stripe changes it. `undefined`: none. */
export async function invoiceUrlOf(config: StripeConfig, sessionId: string, log: Log): Promise<string | undefined> {
  const stripe = await stripeClient(config);
  try {
    const { invoice } = await stripe.checkout.sessions.retrieve(sessionId, { expand: ['invoice'] });
    const url = invoice !== null && typeof invoice === 'object' ? invoice.hosted_invoice_url : undefined;
    return url?.startsWith('https://') ? url : undefined;
  } catch (error) {
    if (isStripeAway(error) || !isStripeError(error)) throw error;
    // The key may not read invoices, or now belongs to another account.
    log.warn({ err: error, sessionId }, 'an invoice could not be read from Stripe');
    return undefined;
  }
}

export function metadataOf(topUpId: string, organizationId: string, automatic: 'true' | 'false'): TopUpMetadata {
  return { gateway_top_up: topUpId, gateway_organization: organizationId, gateway_automatic: automatic };
}

/** The organization's customer at Stripe. If two processes create one, the first is kept. */
async function customerOf(stripe: StripeClient, work: CheckoutFor): Promise<string> {
  const { database, organizationId, organizationName: name } = work;
  const known = await findPaymentAccount(database, organizationId);
  if (known) return known.customerId;
  const made = await stripe.customers.create({
    ...present({ name, email: emailOf(work) }),
    metadata: { gateway_organization: organizationId },
  });
  return (await openPaymentAccount(database, organizationId, made.id)).customerId;
}

/** The address to which Stripe sends receipts. */
function emailOf({ billing, email }: CheckoutFor): string | undefined {
  return billing.billingEmail ?? email;
}

function pageOf(origin: string, organizationId: string): string {
  return `${origin}/o/${organizationId}/credits`;
}
