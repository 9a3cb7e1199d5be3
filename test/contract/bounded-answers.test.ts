import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { ClaimRequest } from '#database/idempotency/idempotency-store.ts';
import type { ClaimedSettlement } from '#database/ledger/ledger.ts';
import { addCustomer, type Customer, openStore, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { withStore } from '../harness/with-store.ts';
import { sealedAnswer } from './stored-responses.ts';

const KIB = 1024;
const HOUR_MS = 3_600_000;
const sha = (text: string): Buffer => createHash('sha256').update(text).digest();

describe('stored responses', () => {
  let boundBytes = 100 * KIB;
  let evicted = 0;
  const onEvicted = (count: number) => {
    evicted += count;
  };
  const storedResponses = { boundBytes: () => boundBytes, onEvicted };
  const db = withStore({ verified: true, options: { storedResponses } });
  /** Connections of a second gateway process. */
  const second = opened(() => openStore(db.url, { storedResponses }));

  interface Stored extends ClaimRequest {
    readonly customer: Customer;
  }

  function attemptOf(customer: Customer, key: string, body = 'body'): Stored {
    const { organizationId } = customer;
    const generationId = newId('gen', Date.now());
    const hashes = { keyHash: sha(key), bodyHash: sha(body) };
    return { customer, organizationId, ...hashes, generationId, leaseMs: 15_000, retentionMs: HOUR_MS };
  }

  function ended({ customer, generationId, keyHash, bodyHash }: Stored, bytes: number): ClaimedSettlement {
    const claim = { keyHash, bodyHash, response: randomBytes(bytes) };
    return { ...settlementOf(customer, { generationId, costNanoUsd: 7n }), claim };
  }

  async function keep(customer: Customer, key: string, bytes: number, by = db.store): Promise<Stored> {
    const attempt = attemptOf(customer, key);
    expect(await by.idempotency.claim(attempt)).toEqual({ kind: 'claimed' });
    await by.ledger.chargeClaimed(ended(attempt, bytes));
    return attempt;
  }

  /** The stored bytes and the counted bytes of an organization. */
  async function bytesOf({ organizationId }: Customer) {
    const [row] = await sql<{ stored: number; counted: number }>(
      db.url,
      `select coalesce(sum(octet_length(response)), 0)::int as stored,
         (coalesce((select bytes from stored_responses where organization_id = '${organizationId}'), 0)
           + coalesce((select sum(bytes) from stored_response_changes where organization_id = '${organizationId}'), 0))::int as counted
       from idempotency_keys where organization_id = '${organizationId}'`,
    );
    return row;
  }

  const claimKind = async (customer: Customer, key: string, body?: string) =>
    (await second.idempotency.claim(attemptOf(customer, key, body))).kind;

  it('of an organization are bounded: the oldest are evicted, and those of others stay', async () => {
    evicted = 0;
    const [customer, other] = [await addCustomer(db.store), await addCustomer(db.store)];
    const kept = await keep(other, 'other', 60 * KIB);
    for (let index = 0; index < 10; index++) {
      await keep(customer, `key ${index}`, 30 * KIB, index % 2 === 0 ? db.store : second);
      expect((await bytesOf(customer))?.stored).toBeLessThanOrEqual(boundBytes);
    }
    expect(await bytesOf(customer)).toEqual({ stored: 90 * KIB, counted: 90 * KIB });
    expect(evicted).toBe(7);
    expect((await sealedAnswer(db.store, kept))?.length).toBe(60 * KIB);
    for (const index of [7, 8, 9]) expect(await claimKind(customer, `key ${index}`)).toBe('finished');
    // The evicted key can be claimed with the same body, but not with another one.
    expect(await claimKind(customer, 'key 6', 'another body')).toBe('reused');
    expect(await claimKind(customer, 'key 6')).toBe('claimed');
    expect(await claimKind(customer, 'key 6')).toBe('running');
  });

  it('that were evicted are charged and stored again when the request is repeated', async () => {
    const customer = await addCustomer(db.store);
    const first = await keep(customer, 'first', 60 * KIB);
    await keep(customer, 'next', 60 * KIB);
    const again = await keep(customer, 'first', 60 * KIB);
    // Repeats the first settlement, as from the log of a crashed process.
    expect(await db.store.ledger.chargeClaimed(ended(first, 60 * KIB))).toBeUndefined();
    expect(again.generationId).not.toBe(first.generationId);
    expect(await claimKind(customer, 'first')).toBe('finished');
    expect(await claimKind(customer, 'next', 'another body')).toBe('reused');
    expect((await db.store.ledger.credits(customer.organizationId)).balanceNanoUsd).toBe(1_000_000n - 21n);
  });

  it('above the bound are not stored, and evict nothing', async () => {
    const customer = await addCustomer(db.store);
    await keep(customer, 'small', 10 * KIB);
    await keep(customer, 'exact', 90 * KIB);
    await keep(customer, 'large', 100 * KIB + 1);
    expect(await bytesOf(customer)).toEqual({ stored: 100 * KIB, counted: 100 * KIB });
    expect(await claimKind(customer, 'large', 'another body')).toBe('reused');
    expect(await claimKind(customer, 'large')).toBe('claimed');
  });

  it('are counted once, however often their settlement is repeated', async () => {
    const customer = await addCustomer(db.store);
    const attempt = attemptOf(customer, 'repeated');
    await db.store.idempotency.claim(attempt);
    const settlement = ended(attempt, 20 * KIB);
    await Promise.all([db.store, second, db.store].map((one) => one.ledger.chargeClaimed(settlement)));
    expect(await bytesOf(customer)).toEqual({ stored: 20 * KIB, counted: 20 * KIB });
  });

  it('stay within the bound when two processes store many at once', async () => {
    const customers = await Promise.all([addCustomer(db.store), addCustomer(db.store), addCustomer(second)]);
    await Promise.all(
      Array.from({ length: 150 }, (_, index) => {
        const customer = customers[index % 3];
        if (!customer) throw new Error('there are three');
        return keep(customer, `key ${index}`, (1 + (index % 40)) * KIB, index % 2 === 0 ? db.store : second);
      }),
    );
    for (const customer of customers) {
      const { stored = 0, counted } = (await bytesOf(customer)) ?? {};
      expect(stored).toBe(counted);
      expect(stored).toBeLessThanOrEqual(boundBytes);
      expect(stored).toBeGreaterThan(boundBytes - 80 * KIB);
    }
  });

  it('that are deleted or replaced after the retention are no longer counted', async () => {
    const customer = await addCustomer(db.store);
    await keep(customer, 'deleted', 30 * KIB);
    await keep(customer, 'taken', 40 * KIB);
    await sql(
      db.url,
      `update idempotency_keys set finished_at = finished_at - interval '2 hours' where organization_id = '${customer.organizationId}'`,
    );
    expect(await claimKind(customer, 'taken', 'another body')).toBe('claimed');
    expect(await bytesOf(customer)).toEqual({ stored: 30 * KIB, counted: 30 * KIB });
    await db.store.idempotency.deleteOlderThan(HOUR_MS, 1000);
    await db.store.idempotency.tidyStored(boundBytes, 1000);
    expect(await bytesOf(customer)).toEqual({ stored: 0, counted: 0 });
    const [left] = await sql<{ n: number }>(db.url, 'select count(*)::int as n from stored_response_changes');
    expect(left?.n).toBe(0);
  });

  it('are evicted in small steps after the bound was lowered', async () => {
    const customer = await addCustomer(db.store);
    for (let index = 0; index < 5; index++) await keep(customer, `key ${index}`, 20 * KIB);
    boundBytes = 50 * KIB;
    try {
      expect(await db.store.idempotency.tidyStored(boundBytes, 1000)).toMatchObject({
        storedBytes: expect.any(Number),
      });
      expect(await bytesOf(customer)).toEqual({ stored: 40 * KIB, counted: 40 * KIB });
    } finally {
      boundBytes = 100 * KIB;
    }
  });

  it('are tidied while others are stored, without deadlocks', async () => {
    const customers = await Promise.all(Array.from({ length: 6 }, () => addCustomer(db.store)));
    let storing = true;
    const tidying = [db.store, second].map(async (one) => {
      while (storing) await one.idempotency.tidyStored(20 * KIB, 1000);
    });
    await Promise.all(
      Array.from({ length: 90 }, (_, index) => {
        const customer = customers[index % customers.length];
        if (!customer) throw new Error('there are six');
        return keep(customer, `key ${index}`, 10 * KIB, index % 2 === 0 ? db.store : second);
      }),
    );
    storing = false;
    await Promise.all(tidying);
    await db.store.idempotency.tidyStored(20 * KIB, 1000);
    for (const customer of customers) expect(await bytesOf(customer)).toEqual({ stored: 20 * KIB, counted: 20 * KIB });
    expect([...db.store.logged, ...second.logged].filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('that are locked are skipped, and evicted later', async () => {
    const customer = await addCustomer(db.store);
    const { keyHash } = await keep(customer, 'locked', 50 * KIB);
    await keep(customer, 'free', 50 * KIB);
    const held = sql(
      db.url,
      `begin; select from idempotency_keys where key_hash = '\\x${keyHash.toString('hex')}' for update; select pg_sleep(2); commit`,
    );
    await expect.poll(async () => (await sql<{ n: number }>(db.url, SLEEPING))[0]?.n).toBe(1);
    await keep(customer, 'new', 50 * KIB);
    expect(await claimKind(customer, 'free', 'another body')).toBe('reused');
    expect(await bytesOf(customer)).toEqual({ stored: 100 * KIB, counted: 100 * KIB });
    await held;
    await keep(customer, 'newest', 100 * KIB);
    expect(await bytesOf(customer)).toEqual({ stored: 100 * KIB, counted: 100 * KIB });
    expect(await claimKind(customer, 'newest')).toBe('finished');
  });
});

const SLEEPING = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
