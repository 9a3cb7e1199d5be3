import { describe, expect, test } from 'vitest';
import { paymentsScene } from './payments-scene.ts';

const scene = paymentsScene('gateway_dashboard');
const { stripe, dashboard, at, view, states, entries, paid } = scene;

describe('an invoice', () => {
  const invoiceOf = (topUp: string | undefined, by = scene.owner) =>
    by.send<{ url: string }>('POST', `${at('top-ups')}/${topUp}/invoice`, {});
  const askedFor = () =>
    new URLSearchParams(stripe.calls.findLast(({ path }) => path === '/v1/checkout/sessions')?.body);

  test('is requested with tax id and address, has the billing data, and is found at Stripe', async () => {
    const billing = { legalName: 'Acme GmbH', taxId: 'DE123', billingEmail: 'invoices@acme.example' };
    expect((await scene.owner.send('PATCH', at('settings'), { ...billing, billingAddress: 'Road 1' })).status).toBe(
      200,
    );
    const payment = await paid(30);
    const asked = askedFor();
    expect(Object.fromEntries(asked)).toMatchObject({
      billing_address_collection: 'required',
      customer_email: 'invoices@acme.example',
      'tax_id_collection[enabled]': 'true',
      'invoice_creation[enabled]': 'true',
      'invoice_creation[invoice_data][custom_fields][0][value]': 'Acme GmbH',
      'invoice_creation[invoice_data][custom_fields][1][name]': 'Tax ID',
      'invoice_creation[invoice_data][custom_fields][1][value]': 'DE123',
      'invoice_creation[invoice_data][footer]': 'Billing address: Road 1',
    });
    const [topUp] = (await view()).topUps;
    expect(topUp?.hasInvoice).toBe(true);
    expect(await invoiceOf(topUp?.id)).toMatchObject({
      status: 200,
      body: { url: expect.stringMatching(/^https:\/\/invoice\.stripe\.com\/i\/in_/) },
    });
    expect(await entries()).toEqual([[30, payment]]);
  });

  test('that fails or is absent does not change the credit', async () => {
    const payment = await paid(10);
    const [topUp] = (await view()).topUps;
    const refused = { status: 403, body: { error: { type: 'invalid_request_error', message: 'No permission' } } };
    const elsewhere = { status: 200, body: { id: 'cs_1', invoice: { hosted_invoice_url: 'javascript:alert(1)' } } };
    const none = { status: 200, body: { id: 'cs_1', invoice: null } };
    for (const answer of [refused, elsewhere, none]) {
      stripe.instead = ({ path }) => (path.startsWith('/v1/checkout/sessions/') ? answer : undefined);
      expect(await invoiceOf(topUp?.id)).toMatchObject({ status: 409, body: { problem: 'conflict' } });
    }
    stripe.instead = undefined;
    stripe.away = true;
    expect((await invoiceOf(topUp?.id)).status).toBe(503);
    stripe.away = false;
    expect([await entries(), await states()]).toEqual([[[10, payment]], ['paid']]);
  });

  test('is shown only to its organization, and not requested if the operator has turned invoices off', async () => {
    await paid(10);
    const [topUp] = (await view()).topUps;
    const other = await dashboard.addOrganization('Other');
    const stranger = await dashboard.signedIn(await dashboard.addUser({ in: [other, 'owner'] }));
    expect((await invoiceOf(topUp?.id, stranger)).status).toBe(404);
    const theirs = await stranger.send('POST', `/api/organizations/${other}/top-ups/${topUp?.id}/invoice`, {});
    expect(theirs.status).toBe(404);
    dashboard.configure({ stripe: { ...stripe.config, invoices: false } });
    await scene.begin();
    expect([...askedFor().keys()].filter((name) => /invoice|tax|billing/.test(name))).toEqual([]);
    expect((await view()).topUps.filter(({ hasInvoice }) => hasInvoice)).toEqual([]);
    dashboard.configure({ stripe: stripe.config });
  });
});
