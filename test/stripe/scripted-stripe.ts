import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Stripe } from 'stripe';
import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { type ApiAnswer, type ApiCall, createStripeApi } from './stripe-api.ts';
import { StripeWorld, type WorldEvent } from './stripe-world.ts';

/** Stripe under the control of a test: its API, its Checkout page and its signed events. */
export interface ScriptedStripe {
  readonly world: StripeWorld;
  readonly config: StripeConfig;
  readonly calls: readonly ApiCall[];
  /** While true, every API call gets a 500. */
  away: boolean;
  /**
   * Overrides the response to an API call. With `never` and `lost` the world still executes the
   * call, but its response is missing or a 500.
   */
  instead: ((call: ApiCall) => ApiAnswer | 'never' | 'lost' | undefined) | undefined;
  /** While true, events about payments on the page are sent only by `deliverAll`. */
  late: boolean;
  /** Origin to which events are sent. */
  deliverTo: string | undefined;
  /** Sends an event as Stripe does. Returns the status of the response. */
  deliver(event: WorldEvent, how?: Delivery): Promise<number>;
  /** Sends all unsent events in order. Returns the statuses. */
  deliverAll(): Promise<readonly number[]>;
  close(): Promise<void>;
}

export interface Delivery {
  readonly secret?: string;
  /** Timestamp of the signature. Default: now. */
  readonly signedAtMs?: number;
  /** Payload to send instead of the event. */
  readonly payload?: string;
  /** Changes the body after it has been signed. */
  readonly forge?: (body: string) => string;
}

const SECRET = 'whsec_test_of_the_scripted_stripe';

export async function startScriptedStripe(): Promise<ScriptedStripe> {
  const world = new StripeWorld();
  const api = createStripeApi(world);
  const calls: ApiCall[] = [];
  const signer = new Stripe('sk_test_signer');
  let delivered = 0;
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const apiBase = new URL(`http://127.0.0.1:${port}`);
  world.pages = apiBase.origin;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    let body = '';
    for await (const piece of request) body += piece;
    if (path.startsWith('/pay/'))
      return page(path.slice('/pay/'.length), request.method === 'POST' ? body : undefined, response);
    const key = request.headers['idempotency-key'];
    const call = {
      method: request.method ?? '',
      path,
      body,
      idempotencyKey: typeof key === 'string' ? key : undefined,
    };
    calls.push(call);
    const unavailable = { status: 500, body: { error: { type: 'api_error', message: 'Away' } } };
    const instead = scripted.away ? unavailable : scripted.instead?.(call);
    const made = typeof instead === 'object' ? instead : api(call);
    if (instead === 'never') return;
    const { status, body: told } = instead === 'lost' ? unavailable : made;
    // Stripe sends this with most of its own errors. Without it the client waits and retries.
    const noRetry = status >= 500 ? { 'stripe-should-retry': 'false' } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...noRetry }).end(JSON.stringify(told));
  }

  /** The Checkout page. `filled` is the submitted form. */
  async function page(id: string, filled: string | undefined, response: ServerResponse): Promise<void> {
    const session = world.sessions.get(id);
    if (!session) return void response.writeHead(404).end();
    if (filled === undefined) {
      const title = session.mode === 'setup' ? 'Save' : 'Pay';
      const taxId = session.asked.taxId ? '<input name="tax_id" aria-label="Tax ID">' : '';
      return void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<!doctype html><title>${title}</title><form method="post">${taxId}<button>${title}</button></form>`);
    }
    world.complete(id, { taxId: new URLSearchParams(filled).get('tax_id') });
    if (!scripted.late) await scripted.deliverAll();
    response.writeHead(303, { location: session.success_url }).end();
  }

  const scripted: ScriptedStripe = {
    world,
    calls,
    config: {
      ...{ secretKey: 'sk_test_1', webhookSecret: SECRET, currency: 'usd' as const, apiBase },
      ...{ presetsUsd: [10, 50, 100], leastUsd: 5, mostUsd: 5000, invoices: true },
    },
    away: false,
    instead: undefined,
    late: false,
    deliverTo: undefined,
    async deliver(
      { id, type, object },
      {
        secret = SECRET,
        signedAtMs = Date.now(),
        payload = JSON.stringify({ id, object: 'event', type, data: { object } }),
        forge = (body: string) => body,
      } = {},
    ) {
      const timestamp = Math.floor(signedAtMs / 1000);
      const signature = signer.webhooks.generateTestHeaderString({ payload, secret, timestamp });
      const headers = { 'stripe-signature': signature, 'content-type': 'application/json; charset=utf-8' };
      const sent = await fetch(`${scripted.deliverTo}/webhooks/stripe`, {
        method: 'POST',
        headers,
        body: forge(payload),
      });
      await sent.arrayBuffer();
      return sent.status;
    },
    async deliverAll() {
      const waiting = world.events.slice(delivered);
      delivered = world.events.length;
      const statuses: number[] = [];
      for (const event of waiting) statuses.push(await scripted.deliver(event));
      return statuses;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return scripted;
}
