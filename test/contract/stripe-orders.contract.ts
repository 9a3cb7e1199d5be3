import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { Stripe } from 'stripe';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { settleFromStripe } from '#dashboard/server/payments/settle.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { createTopUp } from '#database/payments/top-ups.ts';
import { numbersFrom } from '../fixtures/seeded-numbers.ts';
import { BY, createDatabase, openStore, type TestStore } from '../harness/database.ts';
import { inProcessClient } from '../stripe/in-process-client.ts';
import { StripeWorld, type WorldEvent } from '../stripe/stripe-world.ts';

/** The longest pause between steps, in which reads of Stripe continue. */
const PAUSE_MS = 4;
/** Histories that run concurrently, because they mostly wait. */
const SIDE_BY_SIDE = 4;
const CONNECTIONS = 8;
/** Long time-outs, because events wait for the lock of their payment and a machine may stall. */
const PATIENT_MS = { connectMs: 60_000, statementMs: 60_000 };
const TIMEOUT_MS = 3_600_000;
const LOG = createLog('silent');

let store: TestStore;
let database: ReturnType<typeof createPool>;

type Step =
  /** If `wrongly`, Stripe has a cent more than the top-up. */
  | { readonly kind: 'pay'; readonly whose: 0 | 1; readonly cents: number; readonly wrongly: boolean }
  | { readonly kind: 'refund' | 'dispute'; readonly which: number; readonly cents: number }
  | { readonly kind: 'fail' | 'win' | 'lose'; readonly which: number }
  /** Delivers events early, by their index among the sent ones. */
  | { readonly kind: 'deliver'; readonly places: readonly number[] };

const cents = fc.integer({ min: 1, max: 3000 });
const which = fc.nat(9);
const whose = fc.constantFrom<0 | 1>(0, 1);
const places = fc.array(fc.nat(99), { maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pay' as const), whose, cents, wrongly: fc.constant(false) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pay' as const), whose, cents, wrongly: fc.constant(true) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('refund' as const, 'dispute' as const), which, cents }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('fail' as const, 'win' as const, 'lose' as const), which }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('deliver' as const), places }) },
);

interface History {
  readonly steps: readonly Step[];
  /** Indexes of events that are delivered again. */
  readonly again: readonly number[];
  /** The seed of the pauses, so that a failed run can be repeated. */
  readonly seed: number;
}

const history: fc.Arbitrary<History> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 10 }),
  again: fc.array(fc.nat(999), { maxLength: 6 }),
  seed: fc.nat(),
});

/**
 * Random histories of payments, refunds and disputes of two organizations. Their events arrive
 * during the history in random order, repeatedly, and at several processes at once.
 */
export function stripeOrders(histories: number): void {
  beforeAll(async () => {
    const url = await createDatabase();
    store = await openStore(url);
    database = createPool(url, CONNECTIONS, PATIENT_MS, { info() {}, warn() {}, error() {} });
  });

  afterAll(async () => {
    await database?.end();
    await store?.close();
  });

  test(
    'the balance is the payments less the reversals, each once and for the right organization',
    async () => {
      const share = async () => {
        const property = fc.asyncProperty(history, play);
        await fc.assert(property, { numRuns: Math.ceil(histories / SIDE_BY_SIDE) });
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, share));
    },
    TIMEOUT_MS,
  );
}

async function play({ steps, again, seed }: History): Promise<void> {
  const random = numbersFrom(seed);
  const world = new StripeWorld(newId('evt', Date.now()).slice('evt-'.length));
  const stripe = new Stripe('sk_test_1', { httpClient: inProcessClient(world, random), telemetry: false });
  const organizations = [await addOrganization(), await addOrganization()] as const;
  const right: string[] = [];
  const underWay: Promise<unknown>[] = [];
  const delivered = new Set<number>();
  // Does not wait, so that the history continues while events are handled.
  const deliver = (places: readonly number[]) => {
    for (const place of places) {
      const event = world.events[place];
      delivered.add(place);
      if (event) underWay.push(follow(stripe, event));
    }
  };
  const known = (places: readonly number[]) =>
    world.events.length === 0 ? [] : places.map((place) => place % world.events.length);
  for (const one of steps) {
    await sleep(random() * PAUSE_MS);
    if (one.kind === 'deliver') deliver(known(one.places));
    else if (one.kind === 'pay') {
      const payment = await pay(world, organizations[one.whose], one.cents, one.wrongly ? 1 : 0);
      if (!one.wrongly) right.push(payment);
    } else happen(world, one, right);
  }
  deliver(known(again));
  deliver([...world.events.keys()].reverse().filter((place) => !delivered.has(place)));
  await Promise.all(underWay);
  for (const organizationId of organizations) {
    const organization = await store.administration.organization(organizationId);
    expect(organization?.balanceNanoUsd).toBe(BigInt(world.kept(organizationId, right)) * 10_000_000n);
  }
}

async function follow(stripe: Stripe, { object }: WorldEvent): Promise<void> {
  const { id = '', payment_intent: of } = object as { readonly id?: string; readonly payment_intent?: string };
  for (;;) {
    const settled = await settleFromStripe({ stripe, database, log: LOG }, of ?? id).catch(laterAgain);
    if (settled !== 'later') return;
  }
}

/** Repeats an event on StoreUnavailable, as Stripe does after a 503. */
function laterAgain(error: unknown): 'later' {
  if (error instanceof StoreUnavailable) return 'later';
  throw error;
}

async function pay(world: StripeWorld, organizationId: string, cents: number, more: number): Promise<string> {
  const id = newId('top', Date.now());
  await createTopUp(database, { id, organizationId, amountCents: BigInt(cents), createdBy: 'owner@example.com' });
  const metadata = { gateway_top_up: id, gateway_organization: organizationId };
  const payment = world.addPayment({ amount: cents + more, currency: 'usd', metadata, customer: null });
  world.succeed(payment);
  return payment.id;
}

function happen(
  world: StripeWorld,
  one: Exclude<Step, { kind: 'pay' | 'deliver' }>,
  payments: readonly string[],
): void {
  const nth = (all: readonly string[]) => all[one.which % Math.max(1, all.length)];
  const id = 'cents' in one ? nth(payments) : nth([...(one.kind === 'fail' ? world.refunds : world.disputes).keys()]);
  if (id === undefined) return;
  if (one.kind === 'refund') world.refund(id, one.cents);
  else if (one.kind === 'dispute') world.dispute(id, one.cents);
  else if (one.kind === 'fail') world.failRefund(id);
  else world.decide(id, one.kind === 'win' ? 'won' : 'lost');
}

async function addOrganization(): Promise<string> {
  const id = newId('org', Date.now());
  const settings = { id, name: 'Acme', ...DEFAULT_RULES };
  await store.administration.createOrganization(settings, BY);
  return id;
}
