import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { Stripe } from 'stripe';
import { createStripeApi } from './stripe-api.ts';
import type { StripeWorld } from './stripe-world.ts';

const LATENESS_TURNS = 6;
const LATE_SHARE = 0.2;
const LATE_MS = 12;

/**
 * Passes calls of the official package to a world without sockets, which makes the many calls of
 * property tests affordable. `random` decides the order in which responses arrive.
 */
export function inProcessClient(world: StripeWorld, random: () => number) {
  const api = createStripeApi(world);
  return Stripe.createFetchHttpClient(async (address, { method, body } = {}) => {
    const url = new URL(address instanceof Request ? address.url : address);
    await someTurns(random);
    const call = { method: method ?? 'GET', path: `${url.pathname}${url.search}`, body: String(body ?? '') };
    const { status, body: answer } = api(call);
    // The response may be stale when it arrives.
    if (random() < LATE_SHARE) await sleep(random() * LATE_MS);
    return Response.json(answer, { status });
  });
}

async function someTurns(random: () => number): Promise<void> {
  for (let turns = Math.floor(random() * LATENESS_TURNS); turns > 0; turns--) await setImmediate();
}
