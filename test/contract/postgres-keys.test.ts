import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPool } from '#database/connection/connection-pool.ts';
import { newestKeys } from '#database/keys/key-table.ts';
import { PATIENT } from '../fixtures/patience.ts';
import {
  addCustomer,
  addKey,
  BY,
  createDatabase,
  DAY,
  openStore,
  SILENT,
  settlementOf,
  sql,
} from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { cpuMicros } from '../harness/process-cpu.ts';

const url = await createDatabase();
const store = opened(() => openStore(url));

describe('keys in PostgreSQL', () => {
  it('returns key, organization, limits, balance and the spend of the requested day', async () => {
    const { administration, keys, ledger } = store;
    const customer = await addCustomer(store, 5_000n, { requestsPerMinute: 60, dailyBudgetNanoUsd: 900n });
    const other = await addKey(store, customer.organizationId);
    await administration.updateOrganization(
      customer.organizationId,
      {
        maxTokens: 100,
        allowMultipleCompletions: true,
      },
      BY,
    );
    await ledger.charge(settlementOf(customer, { costNanoUsd: 300n }));
    await ledger.charge(settlementOf({ ...customer, keyId: other.keyId }, { costNanoUsd: 50n }));
    const found = await keys.findByHash(customer.hash, DAY);
    expect(found?.key).toEqual({ id: customer.keyId, scopes: new Set(['chat']), limits: {} });
    expect(found?.organization).toEqual({
      id: customer.organizationId,
      suspended: false,
      allowMultipleCompletions: true,
      maxTokens: 100,
      concurrency: 64,
      limits: { requestsPerMinute: 60, dailyBudgetNanoUsd: 900n },
    });
    expect(found?.account).toEqual({
      ledgerEpoch: expect.stringMatching(/^[0-9a-f-]{36}$/),
      organization: { sequence: 3, balanceNanoUsd: 4_650n, day: DAY, spentNanoUsd: 350n },
      key: { sequence: 3, day: DAY, spentNanoUsd: 300n },
    });
    const tomorrow = await keys.findByHash(customer.hash, DAY + 1);
    expect(tomorrow?.account.organization).toEqual({
      sequence: 3,
      balanceNanoUsd: 4_650n,
      day: DAY + 1,
      spentNanoUsd: 0n,
    });
    expect(tomorrow?.account.key.spentNanoUsd).toBe(0n);
  });

  it('finds no unknown keys in a batch with known ones', async () => {
    const customer = await addCustomer(store);
    const found = await Promise.all([
      store.keys.findByHash(randomBytes(32), DAY),
      store.keys.findByHash(customer.hash, DAY),
      store.keys.findByHash(Buffer.alloc(0), DAY),
      store.keys.findByHash(customer.hash, DAY + 1),
      store.keys.findByHash(customer.hash, DAY),
    ]);
    expect(found.map((principal) => principal?.key.id)).toEqual([
      undefined,
      customer.keyId,
      undefined,
      customer.keyId,
      customer.keyId,
    ]);
    expect(found.map((principal) => principal?.account.key.day)).toEqual([undefined, DAY, undefined, DAY + 1, DAY]);
  });

  it('sees every earlier commit, under load', async () => {
    const customer = await addCustomer(store);
    let busy = true;
    const load = Array.from({ length: 20 }, async () => {
      while (busy) await store.keys.findByHash(customer.hash, DAY);
    });
    for (let i = 1; i <= 20; i++) {
      const suspended = i % 2 === 1;
      await store.administration.setSuspended(customer.organizationId, suspended, BY);
      const found = await store.keys.findByHash(customer.hash, DAY);
      expect(found?.organization.suspended).toBe(suspended);
    }
    await store.administration.revokeKey(customer.keyId, BY);
    const revoked = await store.keys.findByHash(customer.hash, DAY);
    expect(revoked?.key.revokedAtMs).toBeGreaterThan(Date.now() - 5_000);
    busy = false;
    await Promise.all(load);
  });

  it('refuses a key with limits above its organization, and accepts equal ones', async () => {
    const { organizationId } = await addCustomer(store, 0n, { tokensPerMinute: 100, dailyBudgetNanoUsd: 5n });
    const create = (limits: object) =>
      store.administration.createKey(
        {
          id: `key-${'0'.repeat(26)}`,
          organizationId,
          name: 'k',
          scopes: ['chat'],
          hash: randomBytes(32),
          last4: 'abcd',
          ...limits,
        },
        BY,
      );
    expect(await create({ tokensPerMinute: 101 })).toEqual({
      kind: 'above_organization',
      limit: 'tokensPerMinute',
      organizationLimit: 100,
    });
    expect(await create({ dailyBudgetNanoUsd: 6n })).toMatchObject({
      limit: 'dailyBudgetNanoUsd',
      organizationLimit: 5n,
    });
    expect(await create({ requestsPerMinute: 9, tokensPerMinute: 100, dailyBudgetNanoUsd: 5n })).toMatchObject({
      kind: 'created',
    });
  });

  it('stores only the hash and the last four characters of a key', async () => {
    const customer = await addCustomer(store);
    const [record] = (await store.administration.keys(customer.organizationId)) ?? [];
    expect(record).not.toHaveProperty('hash');
    expect(record).toMatchObject({ id: customer.keyId, last4: 'test' });
    expect(await store.administration.keys(`org-${'0'.repeat(26)}`)).toBeUndefined();
  });

  it('lists the newest revoked keys at linear cost', async () => {
    const customer = await addCustomer(store);
    const count = 20_000;
    await sql(
      url,
      `insert into keys (id, organization_id, name, hash, last4, scopes, created_at, revoked_at)
       select 'key-' || lpad(n::text, 26, '0'), '${customer.organizationId}', 'k', sha256(n::text::bytea), 'abcd', array['chat'],
         now() - interval '1 year' + n * interval '1 second', now() - interval '1 hour' from generate_series(1, ${count}) n`,
    );
    const pool = createPool(url, 1, PATIENT, SILENT);
    onTestFinished(() => pool.end());
    const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    const spentMs = () => (cpuMicros({ server: [rows[0]?.pid ?? 0] }).server ?? 0) / 1_000;
    const listed = async (mostRevoked: number) =>
      (await newestKeys(pool, customer.organizationId, mostRevoked, DAY)).map(({ id }) => id);
    const named = (n: number) => `key-${String(n).padStart(26, '0')}`;
    expect(await listed(2)).toEqual([customer.keyId, named(count), named(count - 1)]);
    expect(await listed(0)).toEqual([customer.keyId]);
    expect(await listed(count)).toHaveLength(count + 1);
    const before = spentMs();
    expect(await listed(count - 1)).toHaveLength(count);
    // It takes some 30 ms, or some 3 s if each key is compared with all others.
    expect(spentMs() - before).toBeLessThan(800);
  });
});
