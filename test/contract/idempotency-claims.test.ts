import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { type Claimed, Claims } from '#ext-proc/billing/idempotency/claims.ts';
import { keepDeletingExpired } from '#ext-proc/billing/idempotency/expiry.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { settlementOf, sql, type TestStore } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';
import { replayedAnswer } from './stored-responses.ts';

/** Longer than the process may stall between two renewals. */
const LEASE_MS = 5_000;
const RENEW_EVERY_MS = 100;
const EXPIRED = { timeout: 10 * LEASE_MS, interval: 50 };

describe('claims of a gateway process', () => {
  const db = withStore();
  let warnings: string[] = [];
  const warn = (_: object, message: string) => void warnings.push(message);
  const log = { info() {}, warn, error: warn } as unknown as Log;

  const open = (changes: Partial<TestStore['idempotency']> = {}) =>
    new Claims({
      store: { ...db.store.idempotency, ...changes },
      leaseMs: LEASE_MS,
      renewEveryMs: RENEW_EVERY_MS,
      log,
    });

  function claim(claims: Claims, idempotencyKey: string, body = 'body'): Promise<Claimed> {
    const { organizationId } = db.customer;
    const generationId = newId('gen', Date.now());
    return claims.claim({ organizationId, idempotencyKey, body: Buffer.from(body), generationId, retentionMs: 60_000 });
  }

  async function attempt(claims: Claims, idempotencyKey: string) {
    const claimed = await claim(claims, idempotencyKey);
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    return claimed.claim;
  }

  // These three wait for leases, so side by side.
  it.concurrent('are renewed during the attempt, and expire after its process ends', async ({ expect }) => {
    const [alive, other] = [open(), open()];
    await attempt(alive, 'alive');
    await sleep(1.5 * LEASE_MS);
    expect((await claim(other, 'alive')).kind).toBe('running');
    // The process ends without freeing its claims.
    alive.close();
    await expect.poll(async () => (await claim(other, 'alive')).kind, EXPIRED).toBe('claimed');
    other.close();
  });

  it.concurrent('are freed once, and not renewed after that', async ({ expect }) => {
    let renewed = 0;
    const claims = open({
      renew: async (...call) => {
        renewed += 1;
        return db.store.idempotency.renew(...call);
      },
    });
    const first = await attempt(claims, 'free');
    await expect.poll(() => renewed).toBeGreaterThan(0);
    await first.free();
    const second = await attempt(claims, 'free');
    await first.free();
    expect((await claim(claims, 'free')).kind).toBe('running');
    second.ended();
    // A claim that the settlement ended is not freed again.
    await second.free();
    expect((await claim(claims, 'free')).kind).toBe('running');
    await sleep(2 * RENEW_EVERY_MS);
    renewed = 0;
    await sleep(3 * RENEW_EVERY_MS);
    expect(renewed).toBe(0);
    claims.close();
  });

  it.concurrent('that cannot be renewed or freed are reported, and renewals are retried', async ({ expect }) => {
    let away = true;
    const refuse = async () => Promise.reject(new StoreUnavailable('away'));
    const claims = open({
      renew: (...call) => (away ? refuse() : db.store.idempotency.renew(...call)),
      free: refuse,
    });
    const held = await attempt(claims, 'away');
    await expect.poll(() => warnings).toContain('the leases of idempotency keys could not be renewed');
    away = false;
    await sleep(1.5 * LEASE_MS);
    const other = open();
    expect((await claim(other, 'away')).kind).toBe('running');
    await held.free();
    expect(warnings).toContain('an idempotency key could not be freed and expires with its lease');
    await expect.poll(async () => (await claim(other, 'away')).kind, EXPIRED).toBe('claimed');
    claims.close();
    other.close();
  });

  it('find the response that an earlier attempt sealed, only for the same body', async () => {
    const claims = open();
    const { keyHash, bodyHash, seal, ended } = await attempt(claims, 'sealed');
    const [row] = await sql<{ generation_id: string }>(
      db.url,
      `select generation_id from idempotency_keys where key_hash = '\\x${keyHash.toString('hex')}'`,
    );
    const generationId = String(row?.generation_id);
    const end = { keyHash, bodyHash, response: await seal(Buffer.from('the answer')) };
    await db.store.ledger.chargeClaimed({ ...settlementOf(db.customer, { generationId }), claim: end });
    expect((await claim(claims, 'sealed')).kind).toBe('running');
    expect((await claim(claims, 'sealed', 'other body')).kind).toBe('reused');
    ended();
    const found = await claim(claims, 'sealed');
    if (found.kind !== 'finished') throw new Error(found.kind);
    expect(found.generationId).toBe(generationId);
    expect((await found.open())?.bytes).toBe('the answer'.length);
    expect((await replayedAnswer(found))?.toString()).toBe('the answer');
    expect((await claim(claims, 'sealed', 'other body')).kind).toBe('reused');
    await sql(db.url, 'delete from idempotency_keys');
    expect(await found.open()).toBeUndefined();
    claims.close();
  });

  it('are deleted after their retention until the process ends, also after an outage of PostgreSQL', async () => {
    const rows = async () =>
      (await sql<{ n: number }>(db.url, 'select count(*)::int as n from idempotency_keys'))[0]?.n;
    await sql(
      db.url,
      `insert into idempotency_keys (organization_id, key_hash, body_hash, generation_id, lease_until)
       select 'org', sha256(i::text::bytea), sha256(''), 'gen', now() - interval '1 hour' from generate_series(1, 450) i`,
    );
    warnings = [];
    let calls = 0;
    const stop = keepDeletingExpired({
      store: {
        ...db.store.idempotency,
        deleteOlderThan: async (...call) => {
          calls += 1;
          if (calls === 1) throw new StoreUnavailable('away');
          return db.store.idempotency.deleteOlderThan(...call);
        },
      },
      retentionMs: () => 1_000,
      boundBytes: () => 1_000_000,
      metrics: createMetrics(),
      log,
    });
    await expect.poll(rows).toBe(0);
    expect(warnings).toEqual(['old idempotency keys could not be deleted yet']);
    stop();
    const after = calls;
    await sleep(1_200);
    expect(calls).toBe(after);
  });
});
