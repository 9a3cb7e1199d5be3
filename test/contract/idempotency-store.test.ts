import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { Claim, ClaimRequest } from '#database/idempotency/idempotency-store.ts';
import type { ClaimedSettlement } from '#database/ledger/ledger.ts';
import {
  addCustomer,
  type Customer,
  createDatabase,
  openStore,
  settlementOf,
  sql,
  type TestStore,
} from '../harness/database.ts';
import { sealedAnswer } from './stored-responses.ts';

const HOUR_MS = 3_600_000;

describe('the idempotency store', () => {
  let url = '';
  let store: TestStore;
  /** Connections of a second gateway process. */
  let second: TestStore;
  let customer: Customer;
  beforeAll(async () => {
    url = await createDatabase();
    store = await openStore(url);
    second = await openStore(url);
    customer = await addCustomer(store, 1_000_000n);
    // Leases expire only when the server has been up for the length of a lease. Here they expire at
    // their time.
    await sql(
      url,
      `create or replace function lease_is_over(lease_until timestamptz, lease_ms bigint) returns boolean language sql as
       'select clock_timestamp() > lease_until'`,
    );
  });
  afterAll(async () => {
    const report = await store.administration.verifyLedger();
    await Promise.all([store.close(), second.close()]);
    expect(report.differences).toEqual([]);
  });

  function attempt(changes: Partial<ClaimRequest> & { key?: string; body?: string } = {}): ClaimRequest {
    const { key = newId('key', 0), body = 'body', ...rest } = changes;
    return {
      organizationId: customer.organizationId,
      keyHash: sha(key),
      bodyHash: sha(body),
      generationId: newId('gen', Date.now()),
      leaseMs: 15_000,
      retentionMs: HOUR_MS,
      ...rest,
    };
  }

  const again = (first: ClaimRequest, changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
    ...first,
    generationId: newId('gen', Date.now()),
    ...changes,
  });

  function ended({ generationId, keyHash, bodyHash }: ClaimRequest, answer?: string): ClaimedSettlement {
    const claim = { keyHash, bodyHash, ...(answer === undefined ? {} : { response: Buffer.from(answer) }) };
    return { ...settlementOf(customer, { generationId, costNanoUsd: 7n }), claim };
  }

  /** Simulates that the process has not renewed the claim for the length of a lease. */
  const expire = ({ generationId }: ClaimRequest) =>
    sql(
      url,
      `update idempotency_keys set lease_until = lease_until - interval '20 seconds' where generation_id = '${generationId}'`,
    );

  const isCharged = async ({ generationId }: Claim) =>
    (await store.ledger.findGeneration(customer.organizationId, generationId)) !== undefined;

  it('gives a key to one of 60 concurrent attempts in two processes', async () => {
    const first = attempt();
    const attempts = Array.from({ length: 60 }, () => again(first));
    const results = await Promise.all(attempts.map((one, i) => (i % 2 === 0 ? store : second).idempotency.claim(one)));
    expect(results.map(({ kind }) => kind).sort()).toEqual(['claimed', ...Array(59).fill('running')]);
  });

  it('reports another body as reused, during and after the first attempt, only in the same organization', async () => {
    const first = attempt();
    expect(await store.idempotency.claim(first)).toEqual({ kind: 'claimed' });
    expect(await store.idempotency.claim(again(first, { bodyHash: sha('other') }))).toEqual({ kind: 'reused' });
    await store.ledger.chargeClaimed(ended(first, 'answer'));
    expect(await store.idempotency.claim(again(first, { bodyHash: sha('other') }))).toEqual({ kind: 'reused' });
    const { organizationId } = await addCustomer(store);
    expect(await store.idempotency.claim(again(first, { organizationId }))).toEqual({ kind: 'claimed' });
  });

  it('stores the response with the charge, and returns it unchanged', async () => {
    const first = attempt();
    const answer = randomBytes(300_000).toString('latin1');
    await store.idempotency.claim(first);
    expect(await sealedAnswer(store, first)).toBeUndefined();
    const settled = await store.ledger.chargeClaimed(ended(first, answer));
    expect(settled?.organization.balanceNanoUsd).toBeTypeOf('bigint');
    const { generationId } = first;
    const bytes = Buffer.from(answer);
    expect(await second.idempotency.claim(again(first))).toEqual({
      kind: 'finished',
      generationId,
      sealedBytes: bytes.length,
    });
    expect((await sealedAnswer(second, first))?.equals(bytes)).toBe(true);
    expect(await isCharged(first)).toBe(true);
    await store.idempotency.free(first);
    expect((await store.idempotency.claim(again(first))).kind).toBe('finished');
  });

  it('stores large responses, also concurrently, and of exactly the size of a piece', async () => {
    const sizes = [4 * 1024 * 1024 - 1, 4 * 1024 * 1024, 9_000_000, 9_000_000, 5_000_000];
    const answers = sizes.map((size) => ({ of: attempt(), bytes: randomBytes(size) }));
    await Promise.all(answers.map(({ of }) => store.idempotency.claim(of)));
    await Promise.all(
      answers.map(({ of, bytes }) => {
        const settlement = ended(of);
        return store.ledger.chargeClaimed({ ...settlement, claim: { ...settlement.claim, response: bytes } });
      }),
    );
    for (const { of, bytes } of answers) expect((await sealedAnswer(store, of))?.equals(bytes)).toBe(true);
  });

  it('charges a repeated settlement once, and keeps its first response', async () => {
    const first = attempt();
    await store.idempotency.claim(first);
    const before = await store.ledger.credits(customer.organizationId);
    for (const text of ['answer', 'answer', 'another']) await store.ledger.chargeClaimed(ended(first, text));
    const after = await store.ledger.credits(customer.organizationId);
    expect(before.balanceNanoUsd - after.balanceNanoUsd).toBe(7n);
    expect((await sealedAnswer(store, first))?.toString()).toBe('answer');
  });

  it('frees the key of an attempt that ended with an error, charged or not', async () => {
    const first = attempt();
    await store.idempotency.claim(first);
    await store.idempotency.free(first);
    const retry = again(first);
    expect(await store.idempotency.claim(retry)).toEqual({ kind: 'claimed' });
    // A late free changes nothing, because the retry has the key.
    await store.idempotency.free(first);
    expect((await store.idempotency.claim(again(first))).kind).toBe('running');
    await store.ledger.chargeClaimed(ended(retry));
    expect(await isCharged(retry)).toBe(true);
    expect(await store.idempotency.claim(again(first, { bodyHash: sha('new body') }))).toEqual({ kind: 'claimed' });
  });

  it('gives the key of an expired attempt to the next, and does not charge the expired one', async () => {
    const dead = attempt();
    await store.idempotency.claim(dead);
    const next = again(dead);
    expect((await store.idempotency.claim(next)).kind).toBe('running');
    await expire(dead);
    expect((await store.idempotency.claim(again(dead, { bodyHash: sha('other') }))).kind).toBe('reused');
    expect(await second.idempotency.claim(next)).toEqual({ kind: 'claimed' });
    expect(await store.ledger.chargeClaimed(ended(dead, 'late'))).toBeUndefined();
    expect(await store.ledger.chargeClaimed(ended(dead))).toBeUndefined();
    expect((await store.idempotency.claim(again(dead))).kind).toBe('running');
    await store.idempotency.renew([dead], 15_000);
    await second.ledger.chargeClaimed(ended(next, 'in time'));
    expect(await store.ledger.chargeClaimed(ended(dead, 'late'))).toBeUndefined();
    expect([await isCharged(dead), await isCharged(next)]).toEqual([false, true]);
    expect((await sealedAnswer(store, next))?.toString()).toBe('in time');
  });

  it('keeps the keys of attempts that renew their lease', async () => {
    const alive = attempt();
    const dead = attempt();
    for (const one of [alive, dead]) {
      await store.idempotency.claim(one);
      await expire(one);
    }
    await store.idempotency.renew([alive], 15_000);
    expect((await store.idempotency.claim(again(alive))).kind).toBe('running');
    expect((await store.idempotency.claim(again(dead))).kind).toBe('claimed');
  });

  it('stores the response of an expired attempt whose key nobody took over', async () => {
    const stalled = attempt();
    await store.idempotency.claim(stalled);
    await expire(stalled);
    expect(await store.ledger.chargeClaimed(ended(stalled, 'slow'))).toBeDefined();
    const forgotten = attempt();
    expect(await store.ledger.chargeClaimed(ended(forgotten, 'from the log'))).toBeDefined();
    expect((await sealedAnswer(store, forgotten))?.toString()).toBe('from the log');
  });

  it('deletes running and finished keys after the retention, in small batches', async () => {
    const done = Array.from({ length: 5 }, () => attempt());
    for (const one of done) {
      await store.idempotency.claim(one);
      await store.ledger.chargeClaimed(ended(one, 'answer'));
    }
    await store.idempotency.claim(attempt());
    const last = done.at(-1);
    if (!last) throw new Error('there are five');
    expect((await store.idempotency.claim(again(last))).kind).toBe('finished');
    expect(await store.idempotency.deleteOlderThan(HOUR_MS, 100)).toBe(0);
    await sql(
      url,
      `update idempotency_keys set finished_at = finished_at - interval '2 hours', lease_until = lease_until - interval '2 hours'`,
    );
    expect((await store.idempotency.claim(again(last, { bodyHash: sha('new body') }))).kind).toBe('claimed');
    expect(await store.idempotency.deleteOlderThan(HOUR_MS, 3)).toBe(3);
    while ((await store.idempotency.deleteOlderThan(HOUR_MS, 3)) > 0);
    const left = await sql<{ finished: number; running: number }>(
      url,
      'select count(finished_at)::int as finished, (count(*) - count(finished_at))::int as running from idempotency_keys',
    );
    expect(left).toEqual([{ finished: 0, running: 1 }]);
    expect(await sealedAnswer(store, last)).toBeUndefined();
  });

  it('settles many attempts at once in two processes, each exactly once', async () => {
    const attempts = Array.from({ length: 120 }, () => attempt());
    await Promise.all(attempts.map((one) => store.idempotency.claim(one)));
    const before = await store.ledger.credits(customer.organizationId);
    await Promise.all(
      attempts.flatMap((one, i) => [
        store.ledger.chargeClaimed(ended(one, `answer ${i}`)),
        second.ledger.chargeClaimed(ended(one, `answer ${i}`)),
        second.idempotency.renew(attempts, 15_000),
      ]),
    );
    const after = await store.ledger.credits(customer.organizationId);
    expect(before.balanceNanoUsd - after.balanceNanoUsd).toBe(120n * 7n);
  });

  it('dead-letters a refused charge with the reason and without the response, and commits its neighbours', async () => {
    const [good, bad] = [attempt(), attempt()];
    await Promise.all([store.idempotency.claim(good), store.idempotency.claim(bad)]);
    const impossible = { ...ended(bad, 'secret answer'), costNanoUsd: -5n };
    const outcomes = await Promise.allSettled([
      store.ledger.chargeClaimed(ended(good, 'answer')),
      store.ledger.chargeClaimed(impossible),
      store.ledger.charge(settlementOf(customer, { generationId: newId('gen', 5), costNanoUsd: -6n })),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    const [, refused] = outcomes;
    if (refused?.status !== 'rejected') throw new Error('it is rejected');
    for (let i = 0; i < 2; i++) await store.ledger.deadLetter(impossible, refused.reason, false);
    expect(await store.administration.verifyLedger()).toMatchObject({ deadLetters: 1, differences: [] });
    const letters = await sql<{ generation_id: string; reason: string; settlement: string }>(
      url,
      'select * from dead_letters order by generation_id desc',
    );
    expect(letters.map((letter) => letter.generation_id)[0]).toBe(bad.generationId);
    for (const { reason } of letters) expect(reason).toContain('check');
    expect(JSON.parse(letters[0]?.settlement ?? '')).toMatchObject({ costNanoUsd: '-5', keyId: customer.keyId });
    expect(letters[0]?.settlement).not.toContain('claim');
    // The transaction was rolled back, so the claim still holds the key.
    expect((await store.idempotency.claim(again(bad))).kind).toBe('running');
  });
});

describe('leases after a restart of the server', () => {
  it('do not expire before all processes could renew them', async () => {
    const url = await createDatabase();
    const store = await openStore(url);
    try {
      const [result] = await sql<{ long: boolean; short: boolean }>(
        url,
        `select lease_is_over(now() - interval '1 second', 36000000) as long, lease_is_over(now() - interval '1 second', 1) as short`,
      );
      expect(result).toEqual({ long: false, short: true });
    } finally {
      await store.close();
    }
  });
});

const sha = (text: string): Buffer => createHash('sha256').update(text).digest();
