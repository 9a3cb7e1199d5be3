import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { CALLER_CHANGED } from '#database/connection/in-force.ts';
import { leastOf } from '../fixtures/least-of.ts';
import { BY, openStore, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const db = withStore();

/** A listening connection like that of a gateway process. */
let listener: pg.Client;
let notified: (string | undefined)[] = [];
beforeAll(async () => {
  listener = new pg.Client({ connectionString: db.url });
  listener.on('notification', ({ payload }) => void notified.push(payload));
  await listener.connect();
  await listener.query(`listen ${CALLER_CHANGED}`);
});
afterAll(() => listener.end());

/** The notifications of a change that arrive before the listener's next statement ends. */
async function notificationsOf(change: () => Promise<unknown>): Promise<readonly (string | undefined)[]> {
  notified = [];
  await change();
  await listener.query('select 1');
  return notified;
}

describe('a change of callers', () => {
  const organizationId = () => db.customer.organizationId;
  const keyId = () => db.customer.keyId;

  it.each<[string, () => Promise<unknown>]>([
    ['suspension', () => db.store.administration.setSuspended(organizationId(), true, BY)],
    ['resumption', () => db.store.administration.setSuspended(organizationId(), false, BY)],
    ['concurrency', () => db.store.administration.updateOrganization(organizationId(), { concurrency: 3 }, BY)],
    ['price list', () => db.store.administration.updateOrganization(organizationId(), { priceList: 'a' }, BY)],
    ['scopes', () => db.store.administration.updateKey(organizationId(), keyId(), { scopes: ['usage:read'] }, BY)],
    ['budget', () => db.store.administration.updateKey(organizationId(), keyId(), { monthlyBudgetNanoUsd: 5n }, BY)],
    ['expiry', () => db.store.administration.updateKey(organizationId(), keyId(), { expiresAtMs: Date.now() }, BY)],
    ['credit', () => db.store.administration.credit(organizationId(), { amountNanoUsd: 5n }, BY)],
    ['correction', () => db.store.administration.credit(organizationId(), { amountNanoUsd: -5n }, BY)],
    ['revocation', () => db.store.administration.revokeKey(keyId(), BY)],
    ['SQL by hand', () => sql(db.url, `update keys set revoked_at = null where id = '${keyId()}'`)],
    ['SQL of an organization', () => sql(db.url, `update organizations set rpm = 7 where id = '${organizationId()}'`)],
  ])('is notified with its organization: %s', async (_name, change) => {
    expect(await notificationsOf(change)).toEqual([organizationId()]);
  });

  it('of the ledger epoch, the keeper of the limits or the fences concerns every caller', async () => {
    expect(await notificationsOf(() => db.store.administration.renewLedgerEpoch(BY))).toEqual(['']);
    expect(
      await notificationsOf(() => sql(db.url, 'update ledger_state set memory_owner = gen_random_uuid()')),
    ).toEqual(['']);
    expect(await notificationsOf(() => sql(db.url, "update ledger_state set store_fences = '1'"))).toEqual(['']);
  });

  it('is notified for a charge that an operator retries, and not for other charges or new organizations', async () => {
    const settlement = settlementOf(db.customer);
    expect(await notificationsOf(() => db.store.ledger.charge(settlement))).toEqual([]);
    const unheld = settlementOf(db.customer);
    await db.store.ledger.deadLetter(unheld, 'refused', true);
    const again = () => db.store.administration.retryDeadLetter(unheld.generationId, BY);
    expect(await notificationsOf(again)).toEqual([organizationId()]);
    const id = newId('org', Date.now());
    const settings = { name: 'new', allowMultipleCompletions: false, concurrency: 1 };
    expect(await notificationsOf(() => db.store.administration.createOrganization({ id, ...settings }, BY))).toEqual(
      [],
    );
  });

  it('is notified before the reply to any statement that was sent after the change, under load', async () => {
    const load = Array.from({ length: 4 }, async (_, at) => {
      for (let i = 0; i < 100; i++) await sql(db.url, `select ${at}, pg_notify('another', '${i}')`);
    });
    const changer = new pg.Client({ connectionString: db.url });
    await changer.connect();
    const late: number[] = [];
    for (let i = 1; i <= 500; i++) {
      const heard = await notificationsOf(() =>
        changer.query(`update organizations set rpm = ${i} where id = '${organizationId()}'`),
      );
      if (heard.length !== 1) late.push(i);
    }
    await Promise.all([...load, changer.end()]);
    expect(late).toEqual([]);
  });
});

describe('a statement that changes callers', () => {
  const TAKEN = 'update ledger_state set memory_owner = gen_random_uuid()';
  const LEFT = 'update ledger_state set memory_owner = null';
  /** At least the life of a proof that a process may have just got, and less than a second. */
  const IN_FORCE = { fromMs: 300, toMs: 1_000 };

  async function tookMs(change: () => Promise<unknown>): Promise<number> {
    const beganMs = performance.now();
    await change();
    return performance.now() - beganMs;
  }

  it('returns when no process may use the former caller', async () => {
    await sql(db.url, TAKEN);
    const suspend = (suspended: boolean) =>
      db.store.administration.setSuspended(db.customer.organizationId, suspended, BY);
    const took = await leastOf(IN_FORCE.toMs, 10, (round) => tookMs(() => suspend(round % 2 === 0)));
    expect(took).toBeGreaterThanOrEqual(IN_FORCE.fromMs - 1);
    expect(took).toBeLessThan(IN_FORCE.toMs);
    await suspend(true);
    expect(await tookMs(() => suspend(false))).toBeGreaterThanOrEqual(IN_FORCE.fromMs - 1);
    expect(await tookMs(() => db.store.administration.renewLedgerEpoch(BY))).toBeGreaterThanOrEqual(
      IN_FORCE.fromMs - 1,
    );
  });

  it('waits for that whatever client_min_messages is set for the database', async () => {
    await sql(db.url, TAKEN);
    const [{ name } = { name: '' }] = await sql<{ name: string }>(
      db.url,
      'select quote_ident(current_database()) as name',
    );
    await sql(db.url, `alter database ${name} set client_min_messages = error`);
    const later = await openStore(db.url);
    const change = () => later.administration.credit(db.customer.organizationId, { amountNanoUsd: 1n }, BY);
    expect(await tookMs(change)).toBeGreaterThanOrEqual(IN_FORCE.fromMs - 1);
    await later.close();
  });

  it('does not wait if nothing changed, or no process caches callers', async () => {
    await sql(db.url, TAKEN);
    const suspend = (suspended: boolean) =>
      db.store.administration.setSuspended(db.customer.organizationId, suspended, BY);
    const unchanged = await leastOf(IN_FORCE.fromMs, 10, () => tookMs(() => suspend(false)));
    expect(unchanged).toBeLessThan(IN_FORCE.fromMs);
    await sql(db.url, LEFT);
    const changed = await leastOf(IN_FORCE.fromMs, 10, (round) => tookMs(() => suspend(round % 2 === 0)));
    expect(changed).toBeLessThan(IN_FORCE.fromMs);
  });
});
