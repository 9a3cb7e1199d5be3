import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { flatTable, NO_PRICES, NO_USAGE } from '#core/pricing.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Ledger } from '#database/ledger/ledger.ts';
import { Accounting } from '#ext-proc/billing/accounting.ts';
import type { BillableHold } from '#ext-proc/billing/billable-hold.ts';
import { HoldKeeper } from '#ext-proc/billing/hold-keeper.ts';
import { Claims, type IdempotencyClaim } from '#ext-proc/billing/idempotency/claims.ts';
import { openSpool } from '#ext-proc/billing/spool/spool.ts';
import { watchSpoolRoom } from '#ext-proc/billing/spool/spool-room.ts';
import type { ProviderOutput } from '#ext-proc/hold/delivery-hold.ts';
import { createMemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { noJournal, noRecentCharges as recent } from '../fixtures/no-journal.ts';
import { addCustomer, type Customer, createDatabase, DAY, openStore, sql } from '../harness/database.ts';
import { startTestPostgres, type TestPostgres } from '../harness/postgres-server.ts';
import { replayedAnswer } from './stored-responses.ts';

const LEASES = { renewEveryMs: 4_000, renewWithinMs: 9_000, onProblem() {} };
const ASKED = { createdAtMs: 1, streamed: false, mostOutputTokens: 1 };
const TABLE = flatTable({ ...NO_PRICES, inputPicoUsd: 1_000_000n, outputPicoUsd: 1_000_000n });
/** 37 tokens at a thousand nano-dollars. */
const COST = 37_000n;
const HELD = 50_000n;
const CREDIT = 1_000_000_000n;
const BODY = Buffer.from('{"prompt":"prompt-sentinel"}');
const ANSWER = Buffer.from('answer-sentinel');

/** Charges against a server of their own, which goes away in every way that a server can. */
describe('accounting', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-accounting-'));
  let server: TestPostgres;
  let url = '';
  let store: Awaited<ReturnType<typeof openStore>>;
  let customer: Customer;
  let files = 0;
  let batches = 0;
  let spoolPath = '';
  let process: Awaited<ReturnType<typeof startProcess>>;

  beforeAll(async () => {
    server = await startTestPostgres({ fsync: 'off' });
    url = await createDatabase(server.socketDir);
    store = await openStore(url, { timeouts: { connectMs: 2_000, statementMs: 2_000 }, onBatch: () => (batches += 1) });
  });
  beforeEach(async () => {
    customer = await addCustomer(store, CREDIT);
    spoolPath = join(folder, `${files++}.jsonl`);
    process = await startProcess();
  });
  afterEach(async () => {
    await process.end();
    const { differences } = await store.administration.verifyLedger();
    expect(differences).toEqual([]);
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  async function startProcess(changes: Partial<Ledger> = {}) {
    const limits = createMemoryLimitStore({ leaseMs: 60_000 });
    const holds = new HoldKeeper({ limits, clock, ...LEASES });
    const spool = await openSpool(spoolPath);
    const stores = { ledger: { ...store.ledger, ...changes }, idempotency: store.idempotency, limits };
    const room = await watchSpoolRoom(folder, spool);
    const kept = { journal: () => noJournal, recent, othersTakeMs: 0, spool, holds };
    const watched = { attempts: { record: () => undefined }, metrics: createMetrics(), log: silent };
    const accounting = new Accounting({ ...stores, ...kept, ...watched, room, clock });
    const claims = new Claims({ store: store.idempotency, leaseMs: 15_000, renewEveryMs: 5_000, log: silent });
    return {
      accounting,
      claims,
      spool,
      heldNanoUsd: () => limits.heldNanoUsd(customer.organizationId, clock.nowMs()),
      async open(claim?: IdempotencyClaim, generationId = newId('gen', clock.nowMs())): Promise<BillableHold> {
        const { organizationId, keyId } = customer;
        const snapshot = { organization: { sequence: 1, balanceNanoUsd: CREDIT, day: today(), spentNanoUsd: 0n } };
        const key = { sequence: 1, day: today(), spentNanoUsd: 0n };
        const request = {
          ...{ holdId: generationId, organizationId, keyId, nowMs: clock.nowMs(), concurrency: 1000, tokens: 1 },
          ...{ organizationLimits: {}, keyLimits: {}, holdNanoUsd: HELD, totalTimeoutMs: 60_000 },
          snapshot: { ledgerEpoch: 'epoch', ...snapshot, key },
        };
        while ((await limits.admit(request)).kind === 'read_again');
        const terms = { ...ASKED, generationId, organizationId, keyId, day: DAY, model: 'm', priceTable: TABLE };
        return accounting.open({ ...terms, ...(claim ? { claim } : {}), holdNanoUsd: HELD, totalTimeoutMs: 60_000 });
      },
      async end() {
        holds.close();
        claims.close();
        await accounting.close();
        room.close();
        await spool.close();
      },
    };
  }

  const claim = (claims: Claims, idempotencyKey: string, generationId: string, body = BODY) =>
    claims.claim({ organizationId: customer.organizationId, idempotencyKey, body, generationId, retentionMs: 60_000 });

  async function openKeyed(idempotencyKey: string): Promise<BillableHold> {
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

  /** Keys whose leases are renewed no longer, because their attempts were settled. */
  const endedKeys: string[] = [];

  const spent = async () => CREDIT - (await store.ledger.credits(customer.organizationId)).balanceNanoUsd;

  async function untilReplayed(accounting: Accounting): Promise<void> {
    await expect.poll(() => accounting.refusesBecause()).toBeUndefined();
  }

  it('charges, keeps the answer and frees what was held', async () => {
    const plain = await process.open();
    const keyed = await openKeyed('one');
    expect(await process.heldNanoUsd()).toBe(2n * HELD);
    expect(await plain.charge(PRODUCED)).toBeUndefined();
    expect(await keyed.charge(PRODUCED, ANSWER)).toBeUndefined();
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 2n * COST]);
    expect(await replayOf('one')).toBe(ANSWER.toString());
    const [row] = await sql<{ text: string }>(url, `select string_agg(k::text, '') as text from idempotency_keys k`);
    for (const hidden of [BODY, ANSWER, Buffer.from('"one"')])
      expect([row?.text.includes(hidden.toString('hex')), row?.text.includes(hidden.toString())]).toEqual([
        false,
        false,
      ]);
  });

  it.each<[how: string, away: () => Promise<unknown>, back: () => Promise<unknown>]>([
    ['is killed', () => server.crash(), () => server.restart()],
    ['refuses to write, as after a failover', () => readOnly(true), () => readOnly(false)],
    ['stands still', async () => stand('SIGSTOP'), async () => stand('SIGCONT')],
  ])('keeps charge and answer in the spool while PostgreSQL %s, and the hold with it', async (_, away, back) => {
    const plain = await process.open();
    const keyed = await openKeyed('spooled');
    endedKeys.length = 0;
    await away();
    const startedMs = clock.monotonicMs();
    const outcomes = await Promise.all([plain.charge(PRODUCED), keyed.charge(PRODUCED, ANSWER)]);
    expect(clock.monotonicMs() - startedMs).toBeLessThan(20_000);
    expect(outcomes).toEqual([undefined, undefined]);
    expect([process.accounting.refusesBecause(), endedKeys.splice(0)]).toEqual([expect.stringContaining('wait'), []]);
    await Promise.all([plain.release(), keyed.release()]);
    expect(await process.heldNanoUsd()).toBe(2n * COST);
    const onDisk = await readFile(spoolPath, 'utf8');
    for (const sentinel of [BODY, ANSWER]) {
      expect(onDisk).not.toContain(sentinel.toString());
      expect(onDisk).not.toContain(sentinel.toString('base64'));
    }
    await expect(process.accounting.replaySpool()).rejects.toBeInstanceOf(StoreUnavailable);
    await back();
    await untilReplayed(process.accounting);
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 2n * COST]);
    expect([await replayOf('spooled'), endedKeys]).toEqual([ANSWER.toString(), ['spooled']]);
    expect(await readFile(spoolPath, 'utf8')).toBe('');
  });

  it('charges once what was committed although the answer to it was lost, and what a crash replays', async () => {
    await process.end();
    const lost = async () => Promise.reject(new StoreUnavailable('the answer was lost'));
    process = await startProcess({
      charge: (settlement) => store.ledger.charge(settlement).then(lost),
      chargeClaimed: (settlement) => store.ledger.chargeClaimed(settlement).then(lost),
    });
    const plain = await process.open();
    const keyed = await openKeyed('ambiguous');
    expect(await Promise.all([plain.charge(PRODUCED), keyed.charge(PRODUCED, ANSWER)])).toEqual([undefined, undefined]);
    expect(await spent()).toBe(2n * COST);
    const pending = process.spool.pending().length;
    expect(pending).toBe(2);
    // The process dies here; its successor finds both in the file, charges them again, and dies
    // before it could empty the file.
    const content = await readFile(spoolPath);
    for (let i = 0; i < 2; i++) {
      await process.end();
      await writeFile(spoolPath, content);
      process = await startProcess();
      await replayAfresh();
      expect([await spent(), process.accounting.refusesBecause()]).toEqual([2n * COST, undefined]);
    }
    expect(await replayOf('ambiguous')).toBe(ANSWER.toString());
  });

  it('charges hundreds that waited, in shared commits', async () => {
    const holds = await Promise.all(Array.from({ length: 300 }, () => process.open()));
    await readOnly(true);
    await Promise.all(holds.map((hold) => hold.charge(PRODUCED)));
    expect(process.spool.pending()).toHaveLength(300);
    await readOnly(false);
    batches = 0;
    await replayAfresh();
    // One by one they would be 300; how many find each other in a commit is the machine's affair.
    expect(batches).toBeLessThan(100);
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 300n * COST]);
  });

  it('keeps a charge that the ledger refuses as a dead letter, and frees hold and key', async () => {
    const impossible = { ...PRODUCED, usage: { ...PRODUCED.usage, promptTokens: -1 } };
    const keyed = await openKeyed('refused');
    await expect(keyed.charge(impossible, ANSWER)).rejects.toThrow('refused the charge');
    await keyed.release();
    expect(await process.heldNanoUsd()).toBe(0n);
    expect(await replayOf('refused')).toBe('claimed');
    expect(await deadLetters()).toEqual([{ reason: expect.stringContaining('generations'), tokens: '-1' }]);
  });

  it('lets no refused charge in the spool keep the others waiting', async () => {
    const [bad, good] = [await process.open(), await process.open()];
    await server.crash();
    const usage = { ...PRODUCED.usage, reasoningTokens: 99 };
    expect(await bad.charge({ ...PRODUCED, usage })).toBeUndefined();
    expect(await good.charge(PRODUCED)).toBeUndefined();
    await server.restart();
    await untilReplayed(process.accounting);
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, COST]);
    expect(await deadLetters()).toHaveLength(1);
  });

  it('charges an attempt nothing whose key another one took over, and tells its client to come back', async () => {
    const stalled = await openKeyed('taken');
    await sql(url, `update idempotency_keys set generation_id = 'gen-other' where finished_at is null`);
    const refusal = await stalled.charge(PRODUCED, ANSWER);
    expect(refusal).toMatchObject({ code: 'idempotency_key_in_flight', headers: { 'retry-after-ms': '1000' } });
    await stalled.release();
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 0n]);
    expect(await replayOf('taken')).toBe('running');
  });

  it('drops a spooled attempt that was taken over meanwhile', async () => {
    const keyed = await openKeyed('taken from the spool');
    await readOnly(true);
    expect(await keyed.charge(PRODUCED, ANSWER)).toBeUndefined();
    await readOnly(false);
    await sql(url, `update idempotency_keys set generation_id = 'gen-other' where finished_at is null`);
    await replayAfresh();
    expect([await process.heldNanoUsd(), await spent()]).toEqual([0n, 0n]);
    expect(process.accounting.refusesBecause()).toBeUndefined();
  });

  /** One that had begun on a server that was away may fail yet. */
  async function replayAfresh(): Promise<void> {
    await process.accounting.replaySpool().catch(() => undefined);
    await process.accounting.replaySpool();
  }

  async function readOnly(on: boolean): Promise<void> {
    await sql(url, `alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
    await sql(url, 'select pg_reload_conf()');
    const shown = { default_transaction_read_only: on ? 'on' : 'off' };
    await expect.poll(async () => (await sql(url, 'show default_transaction_read_only'))[0]).toEqual(shown);
    // A session begins only when the server has informed all others.
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

const PRODUCED: ProviderOutput = {
  provider: 'p',
  providerModel: 'm-1',
  usage: { ...NO_USAGE, promptTokens: 30, completionTokens: 7, reasoningTokens: 1 },
  usageCounted: false,
  cancelled: false,
  latencyMs: 1,
  generationTimeMs: 1,
};
const today = (): number => Math.floor(clock.nowMs() / 86_400_000);
const silent = { info() {}, warn() {}, error() {} } as unknown as Log;
