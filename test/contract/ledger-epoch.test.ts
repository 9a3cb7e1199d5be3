import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addCustomer, BY, createDatabase, DAY, openStore, settlementOf, sql } from '../harness/database.ts';

const CUT_ALL =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

describe('the ledger epoch', () => {
  let url = '';
  let store: Awaited<ReturnType<typeof openStore>>;
  beforeEach(async () => {
    url = await createDatabase();
    store = await openStore(url);
  });
  afterEach(() => store.close());

  /** The epoch that the gateway reads, through existing or new connections. */
  async function epoch(hash: Buffer): Promise<string | undefined> {
    return (await store.keys.findByHash(hash, DAY))?.account.ledgerEpoch;
  }

  it('stays the same over reconnects and restarts, and is returned by a charge', async () => {
    const customer = await addCustomer(store);
    const before = await epoch(customer.hash);
    expect(before).toMatch(/^[0-9a-f-]{36}$/);
    await sql(url, CUT_ALL);
    await expect.poll(() => epoch(customer.hash).catch(() => 'away')).toBe(before);
    await store.close();
    store = await openStore(url);
    expect(await epoch(customer.hash)).toBe(before);
    expect((await store.ledger.charge(settlementOf(customer))).ledgerEpoch).toBe(before);
  });

  it('changes before the first read from a server that was promoted or restored', async () => {
    const customer = await addCustomer(store);
    const before = await epoch(customer.hash);
    // Simulates a promoted standby, whose timeline differs from the one in the row.
    await sql(url, `update ledger_state set identity[2] = '0000002A'; ${CUT_ALL}`);
    const seen: (string | undefined)[] = [];
    await expect
      .poll(async () => {
        seen.push(await epoch(customer.hash).catch(() => 'away'));
        return seen.at(-1);
      })
      .toMatch(/^[0-9a-f-]{36}$/);
    expect(seen).not.toContain(before);
    const [row] = await sql<{ timeline: string }>(url, 'select identity[2] as timeline from ledger_state');
    expect(row?.timeline).toBe('00000001');
  });

  it('changes once before the first read from a copy, also on the same server', async () => {
    const customer = await addCustomer(store);
    const before = await epoch(customer.hash);
    await store.close();
    const name = `copy_${randomBytes(6).toString('hex')}`;
    await sql(url.replace(/\/\w+\?/, '/postgres?'), `create database ${name} template ${/\/(\w+)\?/.exec(url)?.[1]}`);
    const copyUrl = url.replace(/\/\w+\?/, `/${name}?`);
    store = await openStore(copyUrl);
    const after = await epoch(customer.hash);
    expect(after).not.toBe(before);
    await sql(copyUrl, CUT_ALL);
    await expect.poll(() => epoch(customer.hash).catch(() => 'away')).toBe(after);
  });

  it.each([1, 4])("changes if part %i of the database's identity differs", async (place) => {
    const customer = await addCustomer(store);
    const before = await epoch(customer.hash);
    await sql(url, `update ledger_state set identity[${place}] = '7'; ${CUT_ALL}`);
    await expect.poll(() => epoch(customer.hash).catch(() => before)).not.toBe(before);
    const [row] = await sql<{ known: string[] }>(url, 'select identity as known from ledger_state');
    expect(row?.known).toEqual([
      expect.stringMatching(/^\d{10,}$/),
      '00000001',
      ...Array(2).fill(expect.stringMatching(/^\d+$/)),
    ]);
  });

  it('changes when an account is read in an older state, through an uninterrupted connection', async () => {
    const customer = await addCustomer(store);
    const before = await epoch(customer.hash);
    await store.ledger.charge(settlementOf(customer));
    await sql(url, 'set session_replication_role = replica; update accounts set sequence = sequence - 1');
    await expect(epoch(customer.hash)).rejects.toThrow('went back in time');
    const after = await epoch(customer.hash);
    expect(after).toMatch(/^[0-9a-f-]{36}$/);
    expect(after).not.toBe(before);
    expect(store.logged.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  it('changes when the operator renews it', async () => {
    const customer = await addCustomer(store);
    const before = await epoch(customer.hash);
    const renewed = await store.administration.renewLedgerEpoch(BY);
    expect(renewed).not.toBe(before);
    expect(await epoch(customer.hash)).toBe(renewed);
    expect(await sql(url, `select actor, action from audit_log where subject_name = '${renewed}'`)).toEqual([
      { ...BY, action: 'ledger.epoch_renewed' },
    ]);
  });
});
