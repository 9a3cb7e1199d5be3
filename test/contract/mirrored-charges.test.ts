import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import { openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import { DurableCharges } from '#ext-proc/billing/durable-charges.ts';
import { type Claimed, Claims, type IdempotencyClaim } from '#ext-proc/billing/idempotency/claims.ts';
import type { ChargeMirror } from '#ext-proc/limits/charge-mirror.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import {
  addCustomer,
  type Customer,
  createDatabase,
  openStore,
  settlementOf,
  sql,
  type TestStore,
} from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { localFences } from './local-fences.ts';
import { replayedAnswer } from './stored-responses.ts';

const CREDIT = 1_000_000n;
const COST = 700n;
const BODY = Buffer.from('{}');
const silent = { info() {}, warn() {}, error() {} } as unknown as Log;

/**
 * Charges of two processes with one PostgreSQL and one Redis. Processes can be cut off from
 * PostgreSQL.
 */
requirement(missingRedis, () => {
  describe('a charge that waits in one process', () => {
    const root = mkdtempSync(join(tmpdir(), 'gw-mirrored-'));
    const redis = opened(startTestRedis);
    let limits: RedisLimitStore;
    let store: TestStore;
    let url = '';
    let customer: Customer;
    let logs = 0;
    const running = new Set<Process>();

    beforeAll(async () => {
      url = await createDatabase();
      store = await openStore(url);
      limits = await createRedisLimitStore({
        url: redis.url,
        log: silent,
        leaseMs: 15_000,
        clock: 'server',
        fences: localFences(),
        replyMs: 20_000,
      });
    });
    beforeEach(async () => {
      customer = await addCustomer(store, CREDIT);
    });
    afterEach(async () => {
      for (const process of running) await process.end();
      expect((await store.administration.verifyLedger()).differences).toEqual([]);
    });
    afterAll(async () => {
      await Promise.all([limits.close(), store.close()]);
      rmSync(root, { recursive: true });
    });

    type Process = Awaited<ReturnType<typeof startProcess>>;

    async function startProcess(folder = join(root, String(logs++)), mirror: ChargeMirror = limits.chargeMirror) {
      let cut = false;
      const unlessCut = <T>(work: () => Promise<T>): Promise<T> =>
        cut ? Promise.reject(new StoreUnavailable('cut off')) : work();
      const released: string[] = [];
      const uncharged: string[] = [];
      const chargeLog = await openLog(folder);
      const charges = new DurableCharges({
        ledger: {
          ...store.ledger,
          charge: (one) => unlessCut(() => store.ledger.charge(one)),
          chargeClaimed: (one) => unlessCut(() => store.ledger.chargeClaimed(one)),
          lose: (loss) => unlessCut(() => store.ledger.lose(loss)),
        },
        ...{ chargeLog, mirror, clock, metrics: createMetrics(), log: silent, durableIn: () => 'log' as const },
        room: { problem: () => undefined },
        holds: {
          owe: () => undefined,
          release: async ({ generationId }) => void released.push(generationId),
          releaseKept: async () => undefined,
        },
        uncharged: ({ generationId }) => void uncharged.push(generationId),
      });
      const claims = new Claims({
        store: store.idempotency,
        leaseMs: 1_000,
        renewEveryMs: 60_000,
        mirror,
        log: silent,
      });
      const process = {
        folder,
        charges,
        claims,
        released,
        uncharged,
        isolate: (on: boolean) => {
          cut = on;
        },
        async end() {
          running.delete(process);
          claims.close();
          await charges.close();
          await chargeLog.close();
        },
      };
      running.add(process);
      return process;
    }

    const claim = (claims: Claims, idempotencyKey: string, generationId = newId('gen', Date.now())): Promise<Claimed> =>
      claims.claim({ ...customer, idempotencyKey, body: BODY, generationId, retentionMs: 3_600_000 });

    /** The settlement and claim of a request whose lease has expired. */
    async function attemptOf(process: Process, idempotencyKey: string): Promise<[ClaimedSettlement, IdempotencyClaim]> {
      const settlement = settlementOf(customer, { costNanoUsd: COST });
      const claimed = await claim(process.claims, idempotencyKey, settlement.generationId);
      if (claimed.kind !== 'claimed') throw new Error(`the key is ${claimed.kind}`);
      const { keyHash, bodyHash } = claimed.claim;
      const response = await claimed.claim.seal(Buffer.from(`answer of ${settlement.generationId}`));
      await expire();
      return [{ ...settlement, claim: { keyHash, bodyHash, response } }, claimed.claim];
    }

    const expire = () =>
      sql(
        url,
        `update idempotency_keys set lease_until = clock_timestamp() - interval '1 minute' where finished_at is null`,
      );
    const spent = async () => CREDIT - (await store.ledger.credits(customer.organizationId)).balanceNanoUsd;
    const copies = async () => (await limits.chargeMirror.list()).length;
    const losses = async ({ generationId }: Settlement) =>
      (await store.administration.losses(0)).filter((loss) => loss.generationId === generationId);

    it('is shipped by another one, which ends its hold, even if the first never returns', async () => {
      const [first, second] = [await startProcess(), await startProcess()];
      first.isolate(true);
      const settlement = settlementOf(customer, { costNanoUsd: COST });
      expect(await first.charges.charge(settlement)).toBe('logged');
      await expect.poll(spent).toBe(COST);
      await expect.poll(() => second.released).toContain(settlement.generationId);
      await expect.poll(copies).toBe(0);
      // The volume of the first is found after all.
      await first.end();
      const successor = await startProcess(first.folder);
      await successor.charges.shipper.ship();
      expect(await spent()).toBe(COST);
    });

    it('keeps its Idempotency-Key until its response is stored, so there is one response', async () => {
      const [first, second] = [await startProcess(), await startProcess()];
      const [settlement, attempt] = await attemptOf(first, 'answered');
      first.isolate(true);
      second.isolate(true);
      expect(await first.charges.charge(settlement, attempt)).toBe('logged');
      expect((await claim(second.claims, 'answered')).kind).toBe('running');
      second.isolate(false);
      await expect.poll(spent).toBe(COST);
      await expect.poll(copies).toBe(0);
      await expire();
      expect((await claim(second.claims, 'answered')).kind).toBe('running');
      first.isolate(false);
      await first.charges.shipper.ship();
      const found = await claim(second.claims, 'answered');
      if (found.kind !== 'finished') throw new Error(`the key is ${found.kind}`);
      expect(String(await replayedAnswer(found))).toBe(`answer of ${settlement.generationId}`);
      expect([await spent(), await losses(settlement)]).toEqual([COST, []]);
    });

    it('frees its Idempotency-Key after the retention if its response is never stored', async () => {
      const [first, second] = [await startProcess(), await startProcess()];
      const [settlement, attempt] = await attemptOf(first, 'never');
      first.isolate(true);
      expect(await first.charges.charge(settlement, attempt)).toBe('logged');
      await expect.poll(spent).toBe(COST);
      await sql(url, `update idempotency_keys set lease_until = clock_timestamp() - interval '2 hours'`);
      expect((await claim(second.claims, 'never')).kind).toBe('claimed');
    });

    it('becomes a loss if another attempt has taken over its key', async () => {
      const [first, second] = [await startProcess(), await startProcess()];
      const [settlement, attempt] = await attemptOf(first, 'too late');
      first.isolate(true);
      const next = await claim(second.claims, 'too late');
      if (next.kind !== 'claimed') throw new Error(`the key is ${next.kind}`);
      expect(await first.charges.charge(settlement, attempt)).toBe('taken_over');
      // The request that took over the claim failed and freed the key: no client expects a charge.
      await next.claim.free();
      await first.end();
      const successor = await startProcess(first.folder);
      await successor.charges.shipper.ship();
      expect(await spent()).toBe(0n);
      // The handler of the first request has already recorded the loss.
      expect(successor.uncharged).toEqual([]);
      expect(await losses(settlement)).toMatchObject([{ reason: 'taken_over', amountNanoUsd: COST }]);
      expect((await claim(second.claims, 'too late')).kind).toBe('claimed');
    });

    it('is mirrored later if Redis was down, and by the next process of its volume', async () => {
      const first = await startProcess(undefined, {
        ...limits.chargeMirror,
        add: (charge) => (redisAway ? Promise.reject(new StoreUnavailable('away')) : limits.chargeMirror.add(charge)),
      });
      let redisAway = true;
      first.isolate(true);
      const settlement = settlementOf(customer, { costNanoUsd: COST });
      expect(await first.charges.charge(settlement)).toBe('logged');
      expect(await copies()).toBe(0);
      redisAway = false;
      await expect.poll(copies).toBe(1);
      await first.end();
      await limits.chargeMirror.remove(settlement);
      const successor = await startProcess(first.folder);
      successor.isolate(true);
      await startProcess();
      await expect.poll(spent).toBe(COST);
    });

    it('waits in the log while Redis does not respond', async () => {
      const away = () => Promise.reject(new StoreUnavailable('away'));
      const mirror = { add: away, list: away, remove: away, takeOverClaim: away } as ChargeMirror;
      const process = await startProcess(undefined, mirror);
      const [settlement, attempt] = await attemptOf(process, 'away').catch(() => []);
      expect(settlement).toBeDefined();
      process.isolate(true);
      if (settlement) expect(await process.charges.charge(settlement, attempt)).toBe('logged');
      process.isolate(false);
      await process.charges.shipper.ship();
      expect(await spent()).toBe(COST);
    });
  });
});
