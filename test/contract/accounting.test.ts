import { mkdtempSync, rmSync } from 'node:fs';
import { cp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Ledger } from '#database/ledger/ledger.ts';
import type { Accounting } from '#ext-proc/billing/accounting.ts';
import type { Claims } from '#ext-proc/billing/idempotency/claims.ts';
import type { OpenHold } from '#ext-proc/billing/open-hold.ts';
import { leastOf } from '../fixtures/least-of.ts';
import { addCustomer, type Customer, createDatabase, openStore, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { HELD, PRODUCED, startAccounting } from './accounting.process.ts';
import { replayedAnswer } from './stored-responses.ts';

/** The cost of 37 tokens at 1,000 nano-dollars. */
const COST = 37_000n;
const CREDIT = 1_000_000_000n;
const BODY = Buffer.from('{"prompt":"prompt-sentinel"}');
const ANSWER = Buffer.from('answer-sentinel');

/** Charges with a separate PostgreSQL server, which the tests kill, stop and make read-only. */
describe('accounting', () => {
  const root = mkdtempSync(join(tmpdir(), 'gw-accounting-'));
  const server = opened(() => startTestPostgres({ fsync: 'off' }));
  let url = '';
  let store: Awaited<ReturnType<typeof openStore>>;
  let customer: Customer;
  let folders = 0;
  let batches = 0;
  let durableIn: 'log' | 'database' = 'log';
  let folder = '';
  let process: Awaited<ReturnType<typeof startAccounting>>;

  beforeAll(async () => {
    url = await createDatabase(server.socketDir);
    store = await openStore(url, { timeouts: { connectMs: 2_000, statementMs: 2_000 }, onBatch: () => (batches += 1) });
  });
  beforeEach(async () => {
    customer = await addCustomer(store, CREDIT);
    durableIn = 'log';
    folder = join(root, String(folders++));
    process = await startProcess();
  });
  afterEach(async () => {
    await process.end();
    const { differences } = await store.administration.verifyLedger();
    expect(differences).toEqual([]);
  });
  afterAll(async () => {
    await store.close();
    rmSync(root, { recursive: true });
  });

  const startProcess = (changes: Partial<Ledger> = {}) =>
    startAccounting({ store, customer, folder, durableIn: () => durableIn, changes });

  const claim = (claims: Claims, idempotencyKey: string, generationId: string, body = BODY) =>
    claims.claim({ organizationId: customer.organizationId, idempotencyKey, body, generationId, retentionMs: 60_000 });

  async function openKeyed(idempotencyKey: string): Promise<OpenHold> {
    const generationId = newId('gen', clock.nowMs());
    const claimed = await claim(process.claims, idempotencyKey, generationId);
    if (claimed.kind !== 'claimed') throw new Error(`the key is ${claimed.kind}`);
    const ended = () => {
      endedKeys.push(idempotencyKey);
      claimed.claim.ended();
    };
    return process.open({ ...claimed.claim, ended }, generationId);
  }

  async function replayOf(idempotencyKey: string, claims = process.claims): Promise<string | undefined> {
    const found = await claim(claims, idempotencyKey, newId('gen', clock.nowMs()));
    return found.kind === 'finished' ? (await replayedAnswer(found))?.toString() : found.kind;
  }

  /** Idempotency keys whose leases are no longer renewed, because their attempts were settled. */
  const endedKeys: string[] = [];

  const spent = async () => CREDIT - (await store.ledger.credits(customer.organizationId)).balanceNanoUsd;

  async function untilShipped(accounting: Accounting): Promise<void> {
    await expect.poll(() => accounting.shipper.waitingFor(0)).toEqual([]);
  }

  /** Starts a process that delays charges without an Idempotency-Key until the result is called. */
  async function startGated(): Promise<() => void> {
    await process.end();
    const { promise, resolve } = Promise.withResolvers<void>();
    process = await startProcess({ charge: (settlement) => promise.then(() => store.ledger.charge(settlement)) });
    return resolve;
  }

  async function contentOfLog(): Promise<string> {
    const names = (await readdir(folder)).filter((name) => name.startsWith('log-'));
    return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('');
  }

  it('charges, stores the response and ends the hold', async () => {
    const openGate = await startGated();
    const plain = await process.open();
    const keyed = await openKeyed('one');
    expect(await process.heldNanoUsd()).toBe(2n * HELD);
    expect(await plain.charge(PRODUCED)).toBeUndefined();
    expect([await process.heldNanoUsd(), await spent()]).toEqual([COST + HELD, 0n]);
    openGate();
    expect(await keyed.charge(PRODUCED, ANSWER)).toBeUndefined();
    await untilShipped(process.accounting);
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 2n * COST]);
    expect(await replayOf('one')).toBe(ANSWER.toString());
    const [row] = await sql<{ text: string }>(url, `select string_agg(k::text, '') as text from idempotency_keys k`);
    for (const hidden of [BODY, ANSWER, Buffer.from('"one"')])
      expect([row?.text.includes(hidden.toString('hex')), row?.text.includes(hidden.toString())]).toEqual([
        false,
        false,
      ]);
  });

  it('logs a charge when the response ends, and ships it soon, or before a read', async () => {
    const openGate = await startGated();
    const [first, second] = [await process.open(), await process.open()];
    expect(await first.charge(PRODUCED)).toBeUndefined();
    expect([await spent(), process.accounting.shipper.waitingFor(0).length]).toEqual([0n, 1]);
    openGate();
    await expect.poll(spent, { interval: 5 }).toBe(COST);
    expect(await second.charge(PRODUCED)).toBeUndefined();
    // The time is longer than that of a read, for a busy machine.
    await process.accounting.shipper.shipOf(customer.organizationId, 60_000);
    expect([await spent(), await process.heldNanoUsd()]).toEqual([2n * COST, 0n]);
  });

  it('ships a charge within half a second of the response', async () => {
    const shippedAfterMs = async (round: number) => {
      const hold = await process.open();
      expect(await hold.charge(PRODUCED)).toBeUndefined();
      const beganMs = clock.monotonicMs();
      await expect.poll(spent, { interval: 5 }).toBe(BigInt(round + 1) * COST);
      return clock.monotonicMs() - beganMs;
    };
    expect(await leastOf(500, 10, shippedAfterMs)).toBeLessThan(500);
  });

  it('commits a charge before the response ends if it must be durable in the database', async () => {
    durableIn = 'database';
    const holds = await Promise.all([process.open(), process.open()]);
    await Promise.all(holds.map((hold) => hold.charge(PRODUCED)));
    expect([await spent(), await process.heldNanoUsd()]).toEqual([2n * COST, 0n]);
  });

  it.each<[how: string, away: () => Promise<unknown>, back: () => Promise<unknown>]>([
    ['is killed', () => server.crash(), () => server.restart()],
    ['refuses to write, as after a failover', () => readOnly(true), () => readOnly(false)],
    ['is frozen', async () => stand('SIGSTOP'), async () => stand('SIGCONT')],
  ])(
    'keeps the charge and the response in the log and the hold in the store while PostgreSQL %s',
    async (_, away, back) => {
      const plain = await process.open();
      const keyed = await openKeyed('waits');
      endedKeys.length = 0;
      await away();
      const startedMs = clock.monotonicMs();
      const outcomes = await Promise.all([plain.charge(PRODUCED), keyed.charge(PRODUCED, ANSWER)]);
      expect(clock.monotonicMs() - startedMs).toBeLessThan(20_000);
      expect(outcomes).toEqual([undefined, undefined]);
      expect(endedKeys.splice(0)).toEqual([]);
      await expect.poll(() => process.accounting.refusesBecause()).toContain('charges wait for PostgreSQL');
      await Promise.all([plain.release(), keyed.release()]);
      expect(await process.heldNanoUsd()).toBe(2n * COST);
      const onDisk = await contentOfLog();
      for (const sentinel of [BODY, ANSWER]) {
        expect(onDisk).not.toContain(sentinel.toString());
        expect(onDisk).not.toContain(sentinel.toString('base64'));
      }
      await expect(process.accounting.shipper.ship()).rejects.toBeInstanceOf(StoreUnavailable);
      await back();
      await untilShipped(process.accounting);
      expect(process.accounting.refusesBecause()).toBeUndefined();
      expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 2n * COST]);
      expect([await replayOf('waits'), endedKeys]).toEqual([ANSWER.toString(), ['waits']]);
      expect(process.chargeLog.waiting()).toEqual([]);
    },
  );

  it('charges once if the reply to a commit is lost, and if a crash replays the log', async () => {
    await process.end();
    const lost = async () => Promise.reject(new StoreUnavailable('the answer was lost'));
    process = await startProcess({
      charge: (settlement) => store.ledger.charge(settlement).then(lost),
      chargeClaimed: (settlement) => store.ledger.chargeClaimed(settlement).then(lost),
    });
    const plain = await process.open();
    const keyed = await openKeyed('ambiguous');
    expect(await Promise.all([plain.charge(PRODUCED), keyed.charge(PRODUCED, ANSWER)])).toEqual([undefined, undefined]);
    await expect.poll(spent).toBe(2n * COST);
    expect(process.chargeLog.waiting()).toHaveLength(2);
    // The process ends here. Its successor finds both in the log, charges them again, and ends
    // before it notes their commits.
    const copy = `${folder}.copy`;
    await cp(folder, copy, { recursive: true });
    for (let i = 0; i < 2; i++) {
      await process.end();
      folder = join(root, String(folders++));
      await cp(copy, folder, { recursive: true });
      process = await startProcess();
      await replayAfresh();
      expect([await spent(), process.accounting.refusesBecause()]).toEqual([2n * COST, undefined]);
    }
    expect(await replayOf('ambiguous')).toBe(ANSWER.toString());
  });

  it('ships hundreds of waiting charges in shared commits', async () => {
    const holds = await Promise.all(Array.from({ length: 300 }, () => process.open()));
    await readOnly(true);
    await Promise.all(holds.map((hold) => hold.charge(PRODUCED)));
    expect(process.chargeLog.waiting()).toHaveLength(300);
    await readOnly(false);
    batches = 0;
    await replayAfresh();
    // Separate commits would be 300.
    expect(batches).toBeLessThan(10);
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 300n * COST]);
  });

  it('dead-letters a charge that the ledger refuses, and frees its hold and key', async () => {
    const impossible = { ...PRODUCED, usage: { ...PRODUCED.usage, promptTokens: -1 } };
    const keyed = await openKeyed('refused');
    await expect(keyed.charge(impossible, ANSWER)).rejects.toThrow('refused the charge');
    await keyed.release();
    expect(await process.heldNanoUsd()).toBe(0n);
    expect(await replayOf('refused')).toBe('claimed');
    expect(await deadLetters()).toEqual([{ reason: expect.stringContaining('generations'), tokens: '-1' }]);
  });

  it('ships other charges of the log when one is refused', async () => {
    const [bad, good] = [await process.open(), await process.open()];
    await server.crash();
    const usage = { ...PRODUCED.usage, reasoningTokens: 99 };
    expect(await bad.charge({ ...PRODUCED, usage })).toBeUndefined();
    expect(await good.charge(PRODUCED)).toBeUndefined();
    await server.restart();
    await untilShipped(process.accounting);
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, COST]);
    expect(await deadLetters()).toHaveLength(1);
  });

  it('does not charge an attempt whose key another one took over, and refuses it with retry-after', async () => {
    const stalled = await openKeyed('taken');
    await sql(url, `update idempotency_keys set generation_id = 'gen-other' where finished_at is null`);
    const refusal = await stalled.charge(PRODUCED, ANSWER);
    expect(refusal).toMatchObject({ code: 'idempotency_key_in_flight', headers: { 'retry-after-ms': '1000' } });
    await stalled.release();
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 0n]);
    expect(await replayOf('taken')).toBe('running');
  });

  it('drops a charge in the log whose key was taken over meanwhile', async () => {
    const keyed = await openKeyed('taken while it waits');
    await readOnly(true);
    expect(await keyed.charge(PRODUCED, ANSWER)).toBeUndefined();
    const takeOver = `update idempotency_keys set generation_id = 'gen-other' where finished_at is null`;
    await sql(url, `begin read write; ${takeOver}; commit`);
    await readOnly(false);
    await replayAfresh();
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 0n]);
    expect(process.accounting.refusesBecause()).toBeUndefined();
  });

  /** Ships twice, because a call that began while the server was down may still fail. */
  async function replayAfresh(): Promise<void> {
    await process.accounting.shipper.ship().catch(() => undefined);
    await process.accounting.shipper.ship();
  }

  async function readOnly(on: boolean): Promise<void> {
    await sql(url, `alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
    await sql(url, 'select pg_reload_conf()');
    const shown = { default_transaction_read_only: on ? 'on' : 'off' };
    await expect.poll(async () => (await sql(url, 'show default_transaction_read_only'))[0]).toEqual(shown);
    // A new session begins only when all others have the setting.
    await sql(url, 'select 1');
  }

  function stand(signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const pid of server.processes()) globalThis.process.kill(pid, signal);
  }

  async function deadLetters() {
    return sql<{ reason: string; tokens: string }>(
      url,
      `select reason, settlement::json -> 'usage' ->> 'promptTokens' as tokens from dead_letters
       where organization_id = '${customer.organizationId}'`,
    );
  }
});
