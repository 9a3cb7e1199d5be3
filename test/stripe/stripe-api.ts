import type { StripeWorld } from './stripe-world.ts';

/** An API request of the official package. */
export interface ApiCall {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** Form-encoded body. */
  readonly body: string;
  readonly idempotencyKey?: string | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
}

/** The endpoints of Stripe that the dashboard calls, on the objects of a world. */
export function createStripeApi(world: StripeWorld): (call: ApiCall) => ApiAnswer {
  const answered = new Map<string, { readonly body: string; readonly answer: ApiAnswer }>();
  return (call) => {
    const { idempotencyKey, body } = call;
    const before = idempotencyKey === undefined ? undefined : answered.get(idempotencyKey);
    if (before && before.body !== body)
      return refusal(
        400,
        'idempotency_error',
        'Keys for idempotent requests can only be used with the same parameters.',
      );
    const answer = before?.answer ?? answerTo(world, call);
    if (idempotencyKey !== undefined && call.method === 'POST') answered.set(idempotencyKey, { body, answer });
    return answer;
  };
}

function answerTo(world: StripeWorld, { method, path, body }: ApiCall): ApiAnswer {
  const url = new URL(path, 'http://stripe.test');
  const form = new URLSearchParams(body);
  const [, , resource = '', ...rest] = url.pathname.split('/');
  const name = `${method} ${resource === 'checkout' ? `checkout/${rest.shift()}` : resource}`;
  const [id] = rest;
  const paymentId = url.searchParams.get('payment_intent');
  switch (name) {
    case 'POST customers': {
      const customer = world.id('cus');
      world.customers.add(customer);
      return found({ id: customer, object: 'customer' });
    }
    case 'POST checkout/sessions':
      return newSession(world, form);
    case 'GET checkout/sessions':
      return found(world.sessions.get(id ?? ''), 'checkout.session');
    case 'GET payment_methods':
      return found({ id, object: 'payment_method', customer: world.detached.has(id ?? '') ? null : 'cus_1' });
    case 'POST payment_methods':
      if (world.detached.has(id ?? '')) return refusal(400, 'invalid_request_error', 'It is not attached.');
      world.detached.add(id ?? '');
      return found({ id, object: 'payment_method', customer: null });
    case 'POST payment_intents':
      return newPayment(world, form);
    case 'GET payment_intents':
      if (id === undefined) return found(paymentsOf(world, url.searchParams));
      return found(world.payments.get(id ?? ''), 'payment_intent');
    case 'GET refunds':
      return found(listOf(ofPayment(world.refunds, paymentId)));
    case 'GET disputes':
      return found(listOf(ofPayment(world.disputes, paymentId)));
    default:
      return refusal(404, 'invalid_request_error', `Unrecognized request URL (${name})`);
  }
}

function newSession(world: StripeWorld, form: URLSearchParams): ApiAnswer {
  const customer = form.get('customer');
  if (customer !== null && !world.customers.has(customer)) return found(undefined);
  const price = 'line_items[0][price_data]';
  // Stands for an account with Adaptive Pricing and a payer in Europe.
  const isLocalized = form.get('mode') === 'payment' && form.get('adaptive_pricing[enabled]') !== 'false';
  const session = world.addSession({
    mode: form.get('mode') === 'setup' ? 'setup' : 'payment',
    customer,
    client_reference_id: form.get('client_reference_id'),
    success_url: form.get('success_url') ?? '',
    cancel_url: form.get('cancel_url') ?? '',
    asked: {
      amount: Number(form.get(`${price}[unit_amount]`)),
      currency: isLocalized ? 'eur' : (form.get(`${price}[currency]`) ?? form.get('currency') ?? ''),
      metadata: metadataOf(form, 'payment_intent_data[metadata]'),
      invoice: form.get('invoice_creation[enabled]') === 'true',
      taxId: form.get('tax_id_collection[enabled]') === 'true',
    },
  });
  return found(session);
}

/** Charges a saved card immediately. */
function newPayment(world: StripeWorld, form: URLSearchParams): ApiAnswer {
  if (world.detached.has(form.get('payment_method') ?? ''))
    return refusal(400, 'invalid_request_error', 'The payment method is not attached to a customer.');
  const payment = world.addPayment({
    amount: Number(form.get('amount')),
    currency: form.get('currency') ?? '',
    customer: form.get('customer'),
    metadata: metadataOf(form, 'metadata'),
  });
  world.charges++;
  if (world.declines === undefined) {
    world.succeed(payment);
    return found(payment, 'payment_intent');
  }
  world.decline(payment, world.declines);
  return refusal(402, 'card_error', world.declines, 'card_declined');
}

/** Newest first, in pages. */
function paymentsOf(world: StripeWorld, asked: URLSearchParams): object {
  const customer = asked.get('customer');
  const after = asked.get('starting_after');
  const all = [...world.payments.values()].reverse().filter((one) => customer === null || one.customer === customer);
  const rest = after === null ? all : all.slice(all.findIndex(({ id }) => id === after) + 1);
  const data = rest.slice(0, Number(asked.get('limit') ?? 10));
  return { object: 'list', data, has_more: data.length < rest.length, url: '/v1/payment_intents' };
}

function ofPayment<T extends { readonly payment_intent: string }>(all: ReadonlyMap<string, T>, id: string | null): T[] {
  return [...all.values()].filter((one) => id === null || one.payment_intent === id);
}

function metadataOf(form: URLSearchParams, at: string): Record<string, string> {
  const members = [...form].filter(([name]) => name.startsWith(`${at}[`));
  return Object.fromEntries(members.map(([name, value]) => [name.slice(at.length + 1, -1), value]));
}

function listOf(data: readonly object[]): object {
  return { object: 'list', data: [...data].reverse(), has_more: false, url: '/v1/list' };
}

function found(body: object | undefined, object?: string): ApiAnswer {
  if (body === undefined) return refusal(404, 'invalid_request_error', 'No such object', 'resource_missing');
  return { status: 200, body: structuredClone(object === undefined ? body : { ...body, object }) };
}

function refusal(status: number, type: string, message: string, code?: string): ApiAnswer {
  return { status, body: { error: { type, message, ...(code === undefined ? {} : { code }) } } };
}
