import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { createLog } from '#core/log/log.ts';
import { topUpAutomatically } from '#dashboard/server/payments/automatic.ts';
import { readOpenPayments } from '#dashboard/server/payments/open-payments.ts';
import { sql } from '../../harness/database.ts';
import { paymentsScene } from './payments-scene.ts';

/** Stripe's events do not arrive, because there is no webhook or it was down for too long. */
const scene = paymentsScene('gateway_dashboard');
const { stripe, dashboard, at, view, states, balance, begin } = scene;

// A round reads the payments of every organization, including those of earlier tests.
beforeEach(() => sql(dashboard.databaseUrl, "update top_ups set state = 'expired' where state = 'open'"));

const round = () => readOpenPayments(stripe.config, { database: dashboard.database, log: createLog('silent') });

/** Moves the times at which the top-up was begun and last read into the past. */
const age = (id: string, begun: string, looked?: string) =>
  sql(
    dashboard.databaseUrl,
    `update top_ups set created_at = now() - interval '${begun}',
      looked_at = ${looked === undefined ? 'null' : `now() - interval '${looked}'`} where id = '${id}'`,
  );

/** The number of calls that the work makes to Stripe. */
async function callsOf(work: () => Promise<unknown>): Promise<number> {
  const before = stripe.calls.length;
  await work();
  return stripe.calls.length - before;
}

async function isMissed(id: string): Promise<boolean> {
  const noted = `select from top_ups where id = '${id}' and event_missed_at is not null`;
  return (await sql(dashboard.databaseUrl, noted)).length > 0;
}

const check = (id: string, by = scene.owner) => by.send('POST', `${at('top-ups')}/${id}/check`);

describe('a payment without an event', () => {
  test('is found by a round of the dashboard once it is a minute old, and credited once', async () => {
    const { id, session } = await begin();
    stripe.world.complete(session);
    expect(await callsOf(round)).toBe(0);
    await age(id, '61 seconds');
    await Promise.all([round(), round()]);
    expect([await balance(), await states()]).toEqual([10, ['paid']]);
    expect(await callsOf(round)).toBe(0);
    expect(await isMissed(id)).toBe(true);
    for (const event of stripe.world.events) {
      expect(await stripe.deliver(event)).toBe(200);
    }
    expect([await balance(), await isMissed(id)]).toEqual([10, false]);
  });

  test('that nobody made is read less and less often, and ends with its session', async () => {
    const { id, session } = await begin();
    await age(id, '61 seconds');
    expect(await callsOf(round)).toBe(1);
    expect(await callsOf(round)).toBe(0);
    for (const [begun, looked, isDue] of [
      ['10 minutes', '4 minutes', false],
      ['10 minutes', '6 minutes', true],
      ['20 days', '5 hours', false],
      ['20 days', '7 hours', true],
      ['31 days', '20 days', false],
    ] as const) {
      await age(id, begun, looked);
      expect([begun, looked, (await callsOf(round)) > 0]).toEqual([begun, looked, isDue]);
    }
    stripe.world.expire(session);
    await age(id, '25 hours', '7 hours');
    await round();
    expect([await balance(), await states(), await isMissed(id)]).toEqual([0, ['expired'], false]);
  });

  test('waits while Stripe is unreachable, and each round makes only one read', async () => {
    const [first, second] = [await begin(), await begin()];
    for (const { id, session } of [first, second]) {
      stripe.world.complete(session);
      await age(id, '2 minutes');
    }
    stripe.away = true;
    await expect(round()).rejects.toThrow();
    const looked = await sql(
      dashboard.databaseUrl,
      `select from top_ups where looked_at > now() - interval '1 hour' and organization_id = '${scene.organizationId}'`,
    );
    stripe.away = false;
    expect([looked.length, await balance()]).toEqual([1, 0]);
    for (const { id } of [first, second]) await age(id, '2 minutes');
    await round();
    expect(await balance()).toBe(20);
  });

  test('without a known session ends after a day', async () => {
    const { id } = await begin();
    await sql(dashboard.databaseUrl, `update top_ups set session_id = null where id = '${id}'`);
    await age(id, '23 hours');
    expect([await callsOf(round), await states()]).toEqual([0, ['open']]);
    await age(id, '25 hours');
    expect([await callsOf(round), await states()]).toEqual([0, ['expired']]);
  });
});

describe('a payment that Stripe does not have, as after a change of the key', () => {
  const REASON = 'Stripe does not know this payment. If it was paid, ask your operator.';

  test('ends with a reason after an hour, and is credited if it was paid after all', async () => {
    const { id, session } = await begin();
    const { asked } = stripe.world.sessions.get(session) ?? {};
    stripe.world.sessions.delete(session);
    await age(id, '50 minutes');
    await round();
    expect(await states()).toEqual(['open']);
    await age(id, '61 minutes');
    await round();
    expect((await view()).topUps).toMatchObject([{ state: 'failed', failure: REASON }]);
    expect(await callsOf(round)).toBe(0);
    stripe.world.succeed(
      stripe.world.addPayment({ amount: 1000, currency: 'usd', metadata: asked?.metadata ?? {}, customer: null }),
    );
    for (const event of stripe.world.events.slice(-2)) await stripe.deliver(event);
    expect([await balance(), await states()]).toEqual([10, ['paid']]);
  });

  test('stops automatic top-ups until a person acts', async () => {
    await scene.saveCard();
    const settings = { belowUsd: 5, amountUsd: 20, dailyUsd: 60 };
    const set = () => scene.owner.send('PUT', at('automatic-top-up'), { settings });
    await set();
    const id = newId('top', Date.now());
    await sql(
      dashboard.databaseUrl,
      `insert into top_ups (id, organization_id, automatic, amount_cents, payment_intent_id, asked_at)
       values ('${id}', '${scene.organizationId}', true, 2000, 'pi_of_another_account', now())`,
    );
    const deps = { database: dashboard.database, nowMs: () => Date.now(), log: createLog('silent') };
    const charged = async () => {
      await topUpAutomatically(stripe.config, deps);
      return stripe.world.charges;
    };
    expect(await charged()).toBe(0);
    await age(id, '2 hours');
    await round();
    expect(await view()).toMatchObject({
      stopped: { reason: REASON },
      topUps: [{ automatic: true, state: 'failed', failure: REASON }],
    });
    expect(await charged()).toBe(0);
    await set();
    expect([await charged(), await balance(), await states()]).toEqual([1, 20, ['paid', 'failed']]);
  });

  test.each([
    ['fails', 500, { type: 'api_error', message: 'Oops' }],
    ['is busy', 429, { type: 'invalid_request_error', code: 'rate_limit', message: 'Too many requests' }],
    ['does not know the path', 404, { type: 'invalid_request_error', message: 'Unrecognized request URL' }],
    ['does not know the key', 401, { type: 'invalid_request_error', message: 'Invalid API Key provided' }],
    ['forbids the key to look', 403, { type: 'invalid_request_error', message: 'The provided key lacks a right' }],
  ])('stays open while Stripe %s', async (_, status, error) => {
    const { id, session } = await begin();
    await age(id, '2 hours');
    stripe.instead = () => ({ status, body: { error } });
    await expect(round()).rejects.toThrow();
    stripe.instead = undefined;
    expect(await states()).toEqual(['open']);
    stripe.world.complete(session);
    await age(id, '2 hours');
    await round();
    expect([await balance(), await states()]).toEqual([10, ['paid']]);
  });
});

describe('back from Stripe', () => {
  test('the payment is read at once, at most every five seconds', async () => {
    const { id, session } = await begin();
    expect(await callsOf(() => check(id))).toBe(1);
    stripe.world.complete(session);
    // Moves the last read into the future, so that the result does not depend on speed.
    await age(id, '10 seconds', '-60 seconds');
    expect(await callsOf(() => Promise.all([check(id), check(id), check(id)]))).toBe(0);
    await age(id, '10 seconds', '6 seconds');
    expect((await check(id)).status).toBe(200);
    expect([await balance(), await states()]).toEqual([10, ['paid']]);
    expect(await callsOf(() => check(id))).toBe(0);
  });

  test('another organization cannot read it, and an unreachable Stripe is not an error', async () => {
    const { id, session } = await begin();
    stripe.world.complete(session);
    const otherId = await dashboard.addOrganization('Other');
    const other = await dashboard.signedIn(await dashboard.addUser({ in: [otherId, 'owner'] }));
    const foreign = () => other.send('POST', `/api/organizations/${otherId}/top-ups/${id}/check`);
    expect([await callsOf(foreign), (await foreign()).status, (await check(id, other)).status]).toEqual([0, 404, 404]);
    stripe.away = true;
    const answer = await check(id);
    stripe.away = false;
    expect([answer.status, await balance()]).toEqual([200, 0]);
  });
});
