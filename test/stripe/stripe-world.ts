import type { Stripe } from 'stripe';

/**
 * The few Stripe objects that the dashboard uses, and what can happen to them. Each change records
 * the events that Stripe would send. Tests decide when and how often they are delivered.
 */
export interface WorldEvent {
  readonly id: string;
  readonly type: string;
  readonly object: object;
}

interface Payment {
  id: string;
  amount: number;
  amount_received: number;
  currency: string;
  status: Stripe.PaymentIntent.Status;
  metadata: Record<string, string>;
  customer: string | null;
  last_payment_error: { message: string } | null;
  latest_charge: { id: string; receipt_url: string } | null;
}

interface Session {
  id: string;
  mode: 'payment' | 'setup';
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid' | 'no_payment_required';
  url: string;
  payment_intent: string | null;
  setup_intent: {
    readonly id: string;
    readonly status: string;
    readonly created: number;
    readonly payment_method?: { readonly id: string };
  } | null;
  /** Expanded, as the dashboard asks for it. */
  invoice: {
    id: string;
    hosted_invoice_url: string | null;
    customer_tax_ids: readonly { readonly value: string }[];
  } | null;
  customer: string | null;
  client_reference_id: string | null;
  success_url: string;
  cancel_url: string;
  asked: { amount: number; currency: string; metadata: Record<string, string>; invoice?: boolean; taxId?: boolean };
}

interface Completion {
  readonly amount?: number;
  readonly currency?: string;
  readonly taxId?: string | null;
  /** Last digits of a saved card. */
  readonly last4?: string;
}

type Reversed = { id: string; payment_intent: string; amount: number; currency: string; status: string };

export class StripeWorld {
  readonly sessions = new Map<string, Session>();
  readonly payments = new Map<string, Payment>();
  readonly refunds = new Map<string, Reversed>();
  readonly disputes = new Map<string, Reversed>();
  readonly customers = new Set<string>();
  /** Payment methods that may not be charged any more. */
  readonly detached = new Set<string>();
  readonly events: WorldEvent[] = [];
  /** Decline code for charges of the saved card. `undefined` lets them succeed. */
  declines: string | undefined;
  /** Number of charges of saved cards, one for each requested payment. */
  charges = 0;
  /** Origin of the Checkout pages. */
  pages = 'https://checkout.example';
  #made = 0;
  readonly #name: string;

  /** Worlds with different names create different ids. */
  constructor(name = '') {
    this.#name = name;
  }

  id(prefix: string): string {
    return `${prefix}_${this.#name}${String(++this.#made).padStart(6, '0')}`;
  }

  /** Stripe's clock. It advances with each object. */
  nowSeconds(): number {
    return 1_700_000_000 + this.#made;
  }

  addSession(
    given: Omit<Session, 'id' | 'url' | 'status' | 'payment_status' | 'payment_intent' | 'setup_intent' | 'invoice'>,
  ): Session {
    const id = this.id('cs_test');
    const session: Session = {
      ...given,
      ...{ id, url: `${this.pages}/pay/${id}`, status: 'open', payment_status: 'unpaid' },
      ...{ payment_intent: null, setup_intent: null, invoice: null },
      ...(given.mode === 'setup'
        ? { setup_intent: { id: this.id('seti'), status: 'requires_payment_method', created: this.nowSeconds() } }
        : {}),
    };
    this.sessions.set(id, session);
    return session;
  }

  /** The user pays or saves a card. */
  complete(sessionId: string, { last4 = '4242', ...change }: Completion = {}): string {
    const session = this.#session(sessionId);
    session.status = 'complete';
    if (session.mode === 'setup') {
      const [id, { customer }, { detached }] = [this.id('pm'), session, this];
      const method = {
        ...{ id, type: 'card', created: this.nowSeconds(), card: { brand: 'visa', last4 } },
        get customer() {
          return detached.has(id) ? null : customer;
        },
      };
      if (session.setup_intent)
        session.setup_intent = { ...session.setup_intent, status: 'succeeded', payment_method: method };
      this.#tell('checkout.session.completed', session);
      return '';
    }
    const { amount, currency, metadata } = { ...session.asked, ...change };
    const payment = this.addPayment({ amount, currency, metadata, customer: session.customer });
    session.payment_intent = payment.id;
    session.payment_status = 'paid';
    if (session.asked.invoice) {
      const invoice = this.id('in');
      session.invoice = {
        id: invoice,
        hosted_invoice_url: `https://invoice.stripe.com/i/${invoice}`,
        customer_tax_ids: change.taxId ? [{ value: change.taxId }] : [],
      };
    }
    this.succeed(payment);
    this.#tell('checkout.session.completed', session);
    return payment.id;
  }

  expire(sessionId: string): void {
    const session = this.#session(sessionId);
    session.status = 'expired';
    this.#tell('checkout.session.expired', session);
  }

  addPayment(given: Pick<Payment, 'amount' | 'currency' | 'metadata' | 'customer'>): Payment {
    const id = this.id('pi');
    const payment: Payment = {
      ...given,
      ...{ id, amount_received: 0, status: 'processing', last_payment_error: null, latest_charge: null },
    };
    this.payments.set(id, payment);
    this.#tell('payment_intent.created', payment);
    return payment;
  }

  succeed(payment: Payment): void {
    payment.status = 'succeeded';
    payment.amount_received = payment.amount;
    const charge = this.id('ch');
    payment.latest_charge = { id: charge, receipt_url: `https://pay.stripe.com/receipts/${charge}` };
    this.#tell('payment_intent.succeeded', payment);
    this.#tell('charge.succeeded', { id: charge, payment_intent: payment.id });
  }

  decline(payment: Payment, message: string): void {
    payment.status = 'requires_payment_method';
    payment.last_payment_error = { message };
    this.#tell('payment_intent.payment_failed', payment);
  }

  refund(paymentId: string, amount: number, status = 'succeeded'): string {
    const { currency } = this.payments.get(paymentId) ?? { currency: 'usd' };
    const refund = { id: this.id('re'), payment_intent: paymentId, amount, currency, status };
    this.refunds.set(refund.id, refund);
    this.#tell('refund.created', refund);
    this.#tell('charge.refunded', { id: 'ch_1', payment_intent: paymentId });
    return refund.id;
  }

  failRefund(id: string): void {
    const refund = this.refunds.get(id);
    if (refund) refund.status = 'failed';
    this.#tell('refund.failed', refund ?? {});
  }

  dispute(paymentId: string, amount: number, status = 'needs_response'): string {
    const { currency } = this.payments.get(paymentId) ?? { currency: 'usd' };
    const dispute = { id: this.id('dp'), payment_intent: paymentId, amount, currency, status };
    this.disputes.set(dispute.id, dispute);
    this.#tell('charge.dispute.created', dispute);
    if (!status.startsWith('warning')) this.#tell('charge.dispute.funds_withdrawn', dispute);
    return dispute.id;
  }

  decide(id: string, status: 'won' | 'lost'): void {
    const dispute = this.disputes.get(id);
    if (dispute) dispute.status = status;
    this.#tell('charge.dispute.closed', dispute ?? {});
    if (status === 'won') this.#tell('charge.dispute.funds_reinstated', dispute ?? {});
  }

  /** Sum of the organization's payments among these, less their reversals, in cents. */
  kept(organizationId: string, paymentIds: readonly string[]): number {
    let cents = 0;
    for (const payment of this.payments.values()) {
      if (!paymentIds.includes(payment.id) || payment.metadata.gateway_organization !== organizationId) continue;
      const of = (all: Map<string, Reversed>) => [...all.values()].filter((one) => one.payment_intent === payment.id);
      const back = of(this.refunds).filter(({ status }) => status !== 'failed');
      const disputed = of(this.disputes).filter(({ status }) => /^(needs_response|under_review|lost)$/.test(status));
      cents += [...back, ...disputed].reduce((rest, { amount }) => rest - amount, payment.amount_received);
    }
    return cents;
  }

  /** Records an event with a snapshot of the object, which may change later. */
  #tell(type: string, object: object): void {
    this.events.push({ id: this.id('evt'), type, object: structuredClone(object) });
  }

  #session(id: string): Session {
    const session = this.sessions.get(id);
    if (!session) throw new Error(`there is no session ${id}`);
    return session;
  }
}
