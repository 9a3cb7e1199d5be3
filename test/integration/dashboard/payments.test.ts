import { describe, expect, test, vi } from 'vitest';
import { sql } from '../../harness/database.ts';
import { paymentsScene } from './payments-scene.ts';

const scene = paymentsScene('gateway_dashboard');
const { stripe, dashboard, at, view, states, balance, entries, paid } = scene;
const begin = async (amountUsd?: number) => (await scene.begin(amountUsd)).session;

describe('a payment in Checkout', () => {
  test('is credited when the signed event says so, and is listed with its receipt', async () => {
    const session = await begin(25);
    expect([await balance(), await states()]).toEqual([0, ['open']]);
    const payment = stripe.world.complete(session);
    expect(await balance()).toBe(0);
    await stripe.deliverAll();
    expect(await entries()).toEqual([[25, payment]]);
    const [topUp] = (await view()).topUps;
    expect(topUp).toMatchObject({
      state: 'paid',
      amountNanoUsd: '25000000000',
      automatic: false,
      returnedNanoUsd: '0',
    });
    expect(topUp?.receiptUrl).toMatch(/^https:\/\/pay\.stripe\.com\/receipts\/ch_/);
    expect((await view()).offer).toEqual({ presetsUsd: [10, 50, 100], leastUsd: 5, mostUsd: 5000 });
  });

  test('is credited once, however often, how late and in whatever order its events arrive', async () => {
    stripe.world.complete(await begin());
    const events = stripe.world.events.slice(-6);
    await stripe.deliverAll();
    for (const event of [...events].reverse()) expect(await stripe.deliver(event)).toBe(200);
    await Promise.all(events.map((event) => stripe.deliver(event)));
    expect(await balance()).toBe(10);
  });

  test.each([
    ['days later', 10, { state: 'paid' }],
    ['never', 0, { state: 'failed', failure: 'The account has no funds.' }],
  ])('that the bank confirms %s is not asked for again meanwhile', async (_, credited, end) => {
    const session = stripe.world.sessions.get(await begin());
    if (session === undefined) throw new Error('there is no session');
    const payment = stripe.world.addPayment({ ...session.asked, customer: null });
    Object.assign(session, { status: 'complete', payment_intent: payment.id });
    await stripe.deliverAll();
    expect(await view()).toMatchObject({ topUps: [{ state: 'open' }] });
    const tell = (type: string) => stripe.deliver({ id: type, type: `checkout.session.${type}`, object: session });
    expect(await tell('completed')).toBe(200);
    const failure = expect.stringMatching(/^You have paid, but the bank has not confirmed it/);
    expect(await view()).toMatchObject({ topUps: [{ state: 'open', failure }] });
    if (credited > 0) stripe.world.succeed(payment);
    else stripe.world.decline(payment, 'The account has no funds.');
    await stripe.deliverAll();
    expect(await tell(credited > 0 ? 'async_payment_succeeded' : 'async_payment_failed')).toBe(200);
    const [{ state, failure: told } = {}] = (await view()).topUps;
    expect([await balance(), { state, failure: told }]).toEqual([credited, end]);
  });

  test('that nobody makes in time expires, and costs nothing', async () => {
    stripe.world.expire(await begin());
    await stripe.deliverAll();
    expect([await balance(), await states()]).toEqual([0, ['expired']]);
  });

  test.each([4, 5001, 10.5, -10, '10'])('of %s USD is refused', async (amountUsd) => {
    const asked = await scene.owner.send('POST', at('top-ups'), { amountUsd });
    expect([asked.status, asked.body.fields]).toEqual([400, { amountUsd: expect.any(String) }]);
    expect((await view()).topUps).toEqual([]);
  });

  test('cannot begin while Stripe does not respond', async () => {
    stripe.away = true;
    const asked = await scene.owner.send('POST', at('top-ups'), { amountUsd: 10 });
    stripe.away = false;
    expect([asked.status, await states()]).toEqual([503, ['failed']]);
  });

  test.each([400, 401, 403])(
    'is not possible while Stripe refuses the key or the account with %s, and costs nothing',
    async (status) => {
      const open = await scene.begin();
      const refused = {
        status,
        body: { error: { type: 'invalid_request_error', message: 'Expired API Key, or an account without a name' } },
      };
      stripe.instead = () => refused;
      const errors = vi.spyOn(dashboard.log, 'error');
      for (const what of ['top-ups', 'card']) {
        const asked = await scene.owner.send('POST', at(what), what === 'card' ? {} : { amountUsd: 10 });
        expect([asked.status, asked.body.message]).toEqual([503, expect.stringMatching(/^Stripe refuses .* operator/)]);
        expect(errors).toHaveBeenLastCalledWith(
          expect.anything(),
          expect.stringContaining('payments.stripe.secret_key'),
        );
      }
      errors.mockRestore();
      // The page asks this when the browser returns from paying.
      expect((await scene.owner.send('POST', at(`top-ups/${open.id}/check`))).status).toBe(200);
      stripe.instead = undefined;
      stripe.world.complete(open.session);
      await stripe.deliverAll();
      expect([await balance(), await states()]).toEqual([10, ['failed', 'paid']]);
    },
  );
});

test("an address that Stripe does not accept is the owner's to correct", async () => {
  const message = 'Invalid email address: owner@intranet';
  const error = { type: 'invalid_request_error', code: 'email_invalid', message };
  stripe.instead = ({ path }) => ({
    status: 400,
    body: { error: { ...error, param: path === '/v1/customers' ? 'email' : 'customer_email' } },
  });
  for (const what of ['top-ups', 'card']) {
    const asked = await scene.owner.send('POST', at(what), what === 'card' ? {} : { amountUsd: 10 });
    expect([asked.status, asked.body.message]).toEqual([409, expect.stringMatching(/other billing email in Settings/)]);
  }
  stripe.instead = undefined;
  await scene.owner.send('PATCH', at('settings'), { billingEmail: 'billing@acme.example' });
  await scene.saveCard();
  const asked = stripe.calls.findLast(({ path }) => path === '/v1/customers');
  expect(new URLSearchParams(asked?.body).get('email')).toBe('billing@acme.example');
});

describe('money that is returned', () => {
  test('is deducted from the balance, also in parts and below zero, and credited when a dispute is won', async () => {
    const payment = await paid(50);
    const refund = stripe.world.refund(payment, 2000);
    await stripe.deliverAll();
    const dispute = stripe.world.dispute(payment, 4000);
    await stripe.deliverAll();
    expect(await balance()).toBe(-10);
    expect((await view()).topUps[0]?.returnedNanoUsd).toBe('60000000000');
    stripe.world.decide(dispute, 'won');
    await stripe.deliverAll();
    stripe.world.failRefund(refund);
    await stripe.deliverAll();
    expect(await entries()).toEqual([
      [50, payment],
      [-20, refund],
      [-40, dispute],
      [40, `${dispute}#2`],
      [20, `${refund}#2`],
    ]);
  });

  test('before the event of the payment is deducted with the credit', async () => {
    const payment = stripe.world.complete(await begin());
    const before = stripe.world.events.length;
    stripe.world.refund(payment, 400);
    const [refunded] = stripe.world.events.slice(before);
    if (refunded) expect(await stripe.deliver(refunded)).toBe(200);
    expect(await balance()).toBe(6);
    await stripe.deliverAll();
    expect(await balance()).toBe(6);
  });
});

describe('an event', () => {
  test.each([
    ['signed with another secret', { secret: 'whsec_another' }],
    ['changed on its way', { forge: (body: string) => body.replace('"type"', '"typo":1,"type"') }],
    ['recorded, and replayed years later', { signedAtMs: Date.now() - 3 * 366 * 86_400_000 }],
  ])('%s changes nothing', async (_, how) => {
    stripe.world.complete(await begin());
    const completed = stripe.world.events.at(-1);
    if (completed) expect(await stripe.deliver(completed, how)).toBe(400);
    expect(await balance()).toBe(0);
  });

  test('with a valid signature that invents a payment changes nothing, so a stolen webhook secret gives no credit', async () => {
    const session = await begin();
    const metadata = { gateway_organization: scene.organizationId, gateway_top_up: (await view()).topUps[0]?.id };
    const object = { id: 'pi_invented', status: 'succeeded', amount_received: 1_000_000, currency: 'usd', metadata };
    for (const type of ['payment_intent.succeeded', 'charge.succeeded', 'checkout.session.completed'])
      expect(await stripe.deliver({ id: 'evt_1', type, object: { ...object, payment_intent: 'pi_invented' } })).toBe(
        200,
      );
    const paidSession = { id: session, payment_status: 'paid', payment_intent: 'pi_invented', status: 'complete' };
    expect(await stripe.deliver({ id: 'evt_2', type: 'checkout.session.completed', object: paidSession })).toBe(200);
    expect([await balance(), await states()]).toEqual([0, ['open']]);
  });

  test.each([
    'null',
    '[]',
    '{"type":"charge.refunded"}',
    '{"type":"charge.refunded","data":null}',
    '{"type":7,"data":{}}',
  ])('with a valid signature and the content %s changes nothing', async (body) => {
    expect(await stripe.deliver({ id: 'evt_3', type: '', object: {} }, { payload: body })).toBe(200);
  });

  test('that is too large, has no signature, is only read or comes while payments are off is refused', async () => {
    const post = (body: string) => fetch(`${dashboard.origin}/webhooks/stripe`, { method: 'POST', body });
    const refused = await post('{}');
    expect([refused.status, await refused.json()]).toMatchObject([400, { message: expect.stringContaining('clock') }]);
    expect((await post('x'.repeat(300_000))).status).toBe(413);
    const read = await fetch(`${dashboard.origin}/webhooks/stripe`);
    expect([read.status, await read.json()]).toMatchObject([404, { problem: 'not_found' }]);
    dashboard.configure({});
    expect((await post('{}')).status).toBe(404);
    expect((await scene.owner.send('POST', at('top-ups'), { amountUsd: 10 })).status).toBe(409);
  });

  test('that cannot be handled now gets 503, so Stripe sends it again', async () => {
    stripe.world.complete(await begin());
    const completed = stripe.world.events.at(-1);
    stripe.away = true;
    if (completed) expect(await stripe.deliver(completed)).toBe(503);
    stripe.away = false;
    stripe.instead = () => ({ status: 401, body: { error: { message: 'Invalid API Key provided' } } });
    if (completed) expect(await stripe.deliver(completed)).toBe(503);
    stripe.instead = undefined;
    if (completed) expect(await stripe.deliver(completed)).toBe(200);
    expect(await balance()).toBe(10);
  });
});

test('a card whose time of creation Stripe leaves out is saved', async () => {
  const begun = await scene.owner.send<{ url: string }>('POST', at('card'));
  const session = begun.body.url.split('/').at(-1) ?? '';
  stripe.world.complete(session);
  Reflect.deleteProperty(stripe.world.sessions.get(session)?.setup_intent?.payment_method ?? {}, 'created');
  expect(new Set(await stripe.deliverAll())).toEqual(new Set([200]));
  expect((await view()).card).toBe('visa 4242');
});

describe('a payment that does not match its top-up is not credited, and the operator sees why', () => {
  test.each([
    ['another amount', { amount: 100_000 }, 'The payment is of another amount.'],
    ['another currency', { currency: 'jpy' }, 'The payment is in another currency.'],
  ])('%s', async (_, change, failure) => {
    stripe.world.complete(await begin(), change);
    await stripe.deliverAll();
    expect([await balance(), (await view()).topUps[0]]).toEqual([
      0,
      expect.objectContaining({ state: 'refused', failure }),
    ]);
  });

  test('a session of another organization', async () => {
    const otherId = await dashboard.addOrganization('Other');
    const session = stripe.world.sessions.get(await begin());
    if (session) session.asked.metadata.gateway_organization = otherId;
    stripe.world.complete(session?.id ?? '');
    await stripe.deliverAll();
    expect([await balance(), await balance(otherId), await states()]).toEqual([0, 0, ['refused']]);
  });

  test('a second payment of the same top-up', async () => {
    const payment = await paid();
    const { metadata, ...first } = stripe.world.payments.get(payment) ?? { metadata: {}, amount: 0, currency: '' };
    stripe.world.succeed(stripe.world.addPayment({ ...first, metadata, customer: null }));
    await stripe.deliverAll();
    expect([await balance(), await states()]).toEqual([10, ['paid']]);
  });

  test('a payment of another program at the same Stripe account is ignored', async () => {
    stripe.world.succeed(stripe.world.addPayment({ amount: 1000, currency: 'usd', metadata: {}, customer: null }));
    const foreign = { gateway_top_up: `top-${'0'.repeat(26)}`, gateway_organization: scene.organizationId };
    stripe.world.succeed(stripe.world.addPayment({ amount: 1000, currency: 'usd', metadata: foreign, customer: null }));
    expect(new Set(await stripe.deliverAll())).toEqual(new Set([200]));
    expect(await balance()).toBe(0);
  });
});

test('a payment whose top-up was lost with the database is credited by its events, once', async () => {
  const payment = stripe.world.complete(await begin(25));
  const events = stripe.world.events.slice(-4);
  await sql(dashboard.databaseUrl, `delete from top_ups where organization_id = '${scene.organizationId}'`);
  const forged = await Promise.all(events.map((event) => stripe.deliver(event, { secret: 'whsec_another' })));
  expect([new Set(forged), await balance()]).toEqual([new Set([400]), 0]);
  await Promise.all([...events, ...events].map((event) => stripe.deliver(event)));
  await stripe.deliverAll();
  expect(await entries()).toEqual([[25, payment]]);
  expect((await view()).topUps).toMatchObject([{ state: 'paid', amountNanoUsd: '25000000000', automatic: false }]);
});
