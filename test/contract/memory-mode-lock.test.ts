import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { addCustomer, createDatabase, DAY, openStore, SILENT, sql } from '../harness/database.ts';
import { newMarksPath } from './marks-path.ts';

const CUT_LOCK_CONNECTIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inference-gateway memory-mode lock' and datname = current_database()";

describe('the memory-mode lock', () => {
  it('admits one process, and the next after it has ended', async () => {
    const url = await createDatabase();
    const [first, second] = await Promise.all([openStore(url), openStore(url)]);
    expect((await first.memoryModeLock(newMarksPath(), () => {})).kind).toBe('held');
    const refused = await second.memoryModeLock(newMarksPath(), () => {});
    expect(refused).toMatchObject({ kind: 'refused', message: expect.stringContaining('Another gateway process') });
    await first.close();
    expect((await second.memoryModeLock(newMarksPath(), () => {})).kind).toBe('held');
    await second.close();
  });

  it('admits only one of several processes that start together', async () => {
    const url = await createDatabase();
    const stores = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const locks = await Promise.all(stores.map((store) => store.memoryModeLock(newMarksPath(), () => {})));
    expect(locks.map(({ kind }) => kind).sort()).toEqual(['held', 'refused', 'refused']);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is not held before the charges in progress of a dead process have ended', async () => {
    const url = await createDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    const dead = new pg.Client({ connectionString: url });
    await dead.connect();
    await dead.query('begin');
    // Takes the row lock with which charge_generations() begins.
    await dead.query('select from accounts where organization_id = $1 for update', [customer.organizationId]);
    let isHeld = false;
    const taking = store
      .memoryModeLock(newMarksPath(), () => {})
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

  it('is taken again automatically when its connection is lost', async () => {
    const url = await createDatabase();
    const [store, other] = await Promise.all([openStore(url), openStore(url)]);
    const customer = await addCustomer(store);
    let takenOver = false;
    await store.memoryModeLock(newMarksPath(), () => {
      takenOver = true;
    });
    await sql(url, CUT_LOCK_CONNECTIONS);
    await expect.poll(() => store.logged.map(({ message }) => message)).toContain('the memory-mode lock is held again');
    expect((await store.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    expect((await other.memoryModeLock(newMarksPath(), () => {})).kind).toBe('refused');
    expect(takenOver).toBe(false);
    await Promise.all([store.close(), other.close()]);
  });

  it('is kept where the database ends idle sessions and long transactions', async () => {
    const url = await createDatabase();
    // Not every PostgreSQL has all of these.
    const limits = await sql<{ name: string }>(
      url,
      "select name from pg_settings where name in ('idle_session_timeout', 'transaction_timeout')",
    );
    for (const { name } of limits)
      await sql(url, `do $$ begin execute format('alter database %I set ${name} = 300', current_database()); end $$`);
    const store = await openStore(url);
    expect((await store.memoryModeLock(newMarksPath(), () => {})).kind).toBe('held');
    const pool = createPool(url, 1, PATIENT, SILENT);
    await pool.query('select pg_sleep(1)');
    await pool.end();
    expect(store.logged).toEqual([]);
    await store.close();
  });

  it.each([
    ['by a request', async () => {}],
    ['when its connection is lost', (url: string) => sql(url, CUT_LOCK_CONNECTIONS)],
  ])(
    'after it is lost to another process, nobody is authenticated here, and the process is notified %s',
    async (_how, happens) => {
      const url = await createDatabase();
      const [store, bystander] = await Promise.all([openStore(url), openStore(url)]);
      const customer = await addCustomer(store);
      let reason = '';
      await store.memoryModeLock(newMarksPath(), (message) => {
        reason = message;
      });
      // Simulates the mark of a process that took the lock meanwhile.
      await sql(url, 'update ledger_state set memory_owner = gen_random_uuid()');
      await happens(url);
      await expect(store.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
      expect((await bystander.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
      await expect.poll(() => reason).toContain('Another gateway process');
      await expect(store.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
      await Promise.all([store.close(), bystander.close()]);
    },
  );

  describe('taken over', () => {
    /** A process with the volume of this file, which ends without leaving, as if killed. */
    async function own(url: string, marksPath: string) {
      const store = await openStore(url, { timeouts: BRIEF });
      const lock = await store.memoryModeLock(marksPath, () => {});
      if (lock.kind === 'refused') throw new Error(lock.message);
      return { waitsMs: lock.opensAtMs - performance.now(), leave: lock.leave, end: store.close };
    }
    /**
     * The longest wait of `own` for the former owner: a check, its time-out, a pause, four replies,
     * cancelling and counting, two commits.
     */
    const WAIT_MS = 5_000 + 2_000 + 500 + 4 * 2_000 + 2_000 + 5_000 + 2 * 5_000;

    it('admits at once if first or after its own volume, also if it was killed before its mark was stored', async () => {
      const url = await createDatabase();
      const here = newMarksPath();
      for (let starts = 0; starts < 3; starts++) {
        const owner = await own(url, here);
        expect(owner.waitsMs).toBeLessThanOrEqual(0);
        await owner.end();
      }
      const [{ memory_owner: before } = {}] = await sql<{ memory_owner: string }>(url, READ_MARK);
      await (await own(url, here)).end();
      await sql(url, `update ledger_state set memory_owner = '${before}'`);
      const next = await own(url, here);
      expect(next.waitsMs).toBeLessThanOrEqual(0);
      await next.end();
    });

    it('waits if the former owner ran elsewhere, again after each restart', async () => {
      const url = await createDatabase();
      const [here, there, elsewhere] = [newMarksPath(), newMarksPath(), newMarksPath()];
      await (await own(url, here)).end();
      for (const path of [there, there, elsewhere, here]) {
        const owner = await own(url, path);
        expect(owner.waitsMs).toBeGreaterThan(WAIT_MS - 5_000);
        expect(owner.waitsMs).toBeLessThanOrEqual(WAIT_MS);
        await owner.end();
      }
    });

    it('waits if the file of marks is damaged', async () => {
      const url = await createDatabase();
      const here = newMarksPath();
      await (await own(url, here)).end();
      writeFileSync(here, '{"marks":["');
      const owner = await own(url, here);
      expect(owner.waitsMs).toBeGreaterThan(0);
      await owner.end();
    });

    it('does not wait for an owner that left, unless that one was still waiting', async () => {
      const url = await createDatabase();
      const first = await own(url, newMarksPath());
      await first.leave();
      await first.end();
      const second = await own(url, newMarksPath());
      expect(second.waitsMs).toBeLessThanOrEqual(0);
      await second.end();
      const third = await own(url, newMarksPath());
      await third.leave();
      await third.end();
      const fourth = await own(url, newMarksPath());
      expect(fourth.waitsMs).toBeGreaterThan(0);
      await fourth.end();
    });

    it('does not delete the mark of a later owner when it leaves', async () => {
      const url = await createDatabase();
      const owner = await own(url, newMarksPath());
      await sql(url, 'update ledger_state set memory_owner = gen_random_uuid()');
      const marked = await sql(url, READ_MARK);
      await owner.leave();
      await owner.end();
      expect(await sql(url, READ_MARK)).toEqual(marked);
    });
  });
});

const READ_MARK = 'select memory_owner from ledger_state';
const BRIEF = { connectMs: 5_000, statementMs: 5_000 };
