import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { Stripe } from 'stripe';
import { createStripeApi } from './stripe-api.ts';
import type { StripeWorld } from './stripe-world.ts';

const LATENESS_TURNS = 6;
const LATE_SHARE = 0.2;
const LATE_MS = 12;

/**
 * Hands calls of the official package to a world, without sockets: for as many as only a property
 * test makes. Answers arrive in another order than they were asked for, as `random` draws it.
 */
export function inProcessClient(world: StripeWorld, random: () => number) {
  const api = createStripeApi(world);
  return Stripe.createFetchHttpClient(async (address, { method, body } = {}) => {
    const url = new URL(address instanceof Request ? address.url : address);
    await someTurns(random);
    const call = { method: method ?? 'GET', path: `${url.pathname}${url.search}`, body: String(body ?? '') };
    const { status, body: answer } = api(call);
    // The answer may be old when it arrives.
    if (random() < LATE_SHARE) await sleep(random() * LATE_MS);
    return Response.json(answer, { status });
  });
}

async function someTurns(random: () => number): Promise<void> {
  for (let turns = Math.floor(random() * LATENESS_TURNS); turns > 0; turns--) await setImmediate();
}
