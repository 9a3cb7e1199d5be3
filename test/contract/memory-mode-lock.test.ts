import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../ext-proc/stores/store-unavailable.ts';
import { addCustomer, createDatabase, DAY, openStore, sql } from './database.ts';

const CUT_LOCK_CONNECTIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inference-gateway memory-mode lock' and datname = current_database()";

describe('the memory-mode lock', () => {
  it('lets one process in, and the next after it has gone', async () => {
    const url = await createDatabase();
    const [first, second] = await Promise.all([openStore(url), openStore(url)]);
    expect((await first.memoryModeLock(() => {})).kind).toBe('held');
    const refused = await second.memoryModeLock(() => {});
    expect(refused).toMatchObject({ kind: 'refused', message: expect.stringContaining('Another gateway process') });
    await first.close();
    expect((await second.memoryModeLock(() => {})).kind).toBe('held');
    await second.close();
  });

  it('lets only one of several in that start together', async () => {
    const url = await createDatabase();
    const stores = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const locks = await Promise.all(stores.map((store) => store.memoryModeLock(() => {})));
    expect(locks.map(({ kind }) => kind).sort()).toEqual(['held', 'refused', 'refused']);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is not there before the charges have ended that a dead process left under way', async () => {
    const url = await createDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    const dead = new pg.Client({ connectionString: url });
    await dead.connect();
    await dead.query('begin');
    // As charge_generations() begins.
    await dead.query('select from accounts where organization_id = $1 for update', [customer.organizationId]);
    let isHeld = false;
    const taking = store
      .memoryModeLock(() => {})
      .then(({ kind }) => {
        isHeld = kind === 'held';
      });
    await sleep(1_700);
    expect(isHeld).toBe(false);
    await dead.query('update accounts set sequence = 7 where organization_id = $1', [customer.organizationId]);
    await dead.query('commit');
    await taking;
    expect(isHeld).toBe(true);
    expect((await store.keys.findByHash(customer.hash, DAY))?.account.organization.sequence).toBe(7);
    await Promise.all([dead.end(), store.close()]);
  });

  it('is taken again by itself when its connection is lost', async () => {
    const url = await createDatabase();
    const [store, other] = await Promise.all([openStore(url), openStore(url)]);
    const customer = await addCustomer(store);
    let takenOver = false;
    await store.memoryModeLock(() => {
      takenOver = true;
    });
    await sql(url, CUT_LOCK_CONNECTIONS);
    await expect.poll(() => store.logged.map(({ message }) => message)).toContain('the memory-mode lock is held again');
    expect((await store.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    expect((await other.memoryModeLock(() => {})).kind).toBe('refused');
    expect(takenOver).toBe(false);
    await Promise.all([store.close(), other.close()]);
  });

  it('when it is lost to another process: from then on nobody is authenticated here, and the process is told', async () => {
    const url = await createDatabase();
    const [store, bystander] = await Promise.all([openStore(url), openStore(url)]);
    const customer = await addCustomer(store);
    let reason = '';
    await store.memoryModeLock((told) => {
      reason = told;
    });
    // What a process that takes the lock while nobody holds it leaves behind.
    await sql(url, 'update ledger_state set memory_owner = gen_random_uuid()');
    await expect(store.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
    expect((await bystander.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    expect(reason).toBe('');
    await sql(url, CUT_LOCK_CONNECTIONS);
    await expect.poll(() => reason).toContain('Another gateway process');
    await expect(store.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
    await Promise.all([store.close(), bystander.close()]);
  });
});
