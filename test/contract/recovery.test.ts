import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { changedByPercent, PERCENT_PARTS } from '#core/price-schedule.ts';
import { flatTable, NO_PRICES, NO_USAGE } from '#core/pricing.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { UnchargedAttemptRow } from '#database/costs/provider-attempts.ts';
import type { Ledger } from '#database/ledger/ledger.ts';
import type { UnsettledIntent } from '#ext-proc/billing/charge-log/intent.ts';
import { DurableCharges } from '#ext-proc/billing/durable-charges.ts';
import { createRecovery } from '#ext-proc/billing/recovery.ts';
import type { Metrics } from '#ext-proc/telemetry/metrics.ts';
import { memoryChargeLog } from '../fixtures/memory-charge-log.ts';
import { addCustomer, type Customer, DAY, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';
import { usageOf } from './usage-of.ts';

const PRICES = { ...NO_PRICES, inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 1_000_000n, outputPicoUsd: 1_000_000n };
const CREDIT = 1_000_000n;
const DELIVERED = { tokens: 30, upstreamId: 'up-1', firstAtMs: 1_700_000_000_100, lastAtMs: 1_700_000_000_400 };

/** The next process settles the requests of a killed one in PostgreSQL. */
describe('recovery', () => {
  const db = withStore();
  let customer: Customer;
  let released: string[] = [];
  let attempts: UnchargedAttemptRow[] = [];

  beforeEach(async () => {
    customer = await addCustomer(db.store, CREDIT);
    released = [];
    attempts = [];
  });

  function chargeLeft(left: readonly UnsettledIntent[], changes: Partial<Ledger> = {}): Promise<void> {
    const ledger = { ...db.store.ledger, ...changes };
    const room = { problem: () => undefined };
    const metrics = { recovered() {}, settlementFailed() {}, chargeDeadLettered() {} } as unknown as Metrics;
    const log = { info() {}, warn() {}, error() {} } as unknown as Log;
    const holds = {
      owe: () => undefined,
      release: async ({ generationId }: { generationId: string }) => void released.push(generationId),
      releaseKept: async () => undefined,
    };
    const uncharged = () => undefined;
    const parts = { ledger, room, metrics, log, holds, uncharged };
    const charges = new DurableCharges({
      ...parts,
      ...{ chargeLog: memoryChargeLog(), clock, durableIn: () => 'log' as const },
    });
    const kept = { record: (attempt: UnchargedAttemptRow) => void attempts.push(attempt) };
    const { idempotency } = db.store;
    const recover = createRecovery({
      ...parts,
      idempotency,
      attempts: kept,
      charge: (charge) => charges.chargeDelivered(charge),
    });
    return recover(left).finally(() => charges.close());
  }

  function left(changes: Partial<UnsettledIntent> = {}): UnsettledIntent {
    const { organizationId, keyId } = customer;
    return {
      ...{
        generationId: newId('gen', Date.now()),
        organizationId,
        keyId,
        day: DAY,
        model: 'm',
        priceTable: flatTable(PRICES),
      },
      ...{ holdNanoUsd: 100_000n, streamed: true, createdAtMs: 1_700_000_000_000 },
      ...{ mostOutputTokens: 50, delivered: DELIVERED },
      asked: { provider: 'p', providerModel: 'pm', attempt: 2, askedAtMs: 1_700_000_000_050, promptTokens: 20 },
      ...changes,
    };
  }

  /** The recorded fields of the request. The prompt's estimate is in the usage instead. */
  const recorded = ({ asked: { promptTokens: _, ...asked } }: UnsettledIntent) => asked;

  const generation = ({ generationId }: UnsettledIntent) =>
    db.store.ledger.findGeneration(customer.organizationId, generationId);
  const spent = async () => (await db.store.ledger.credits(customer.organizationId)).totalUsageNanoUsd;

  async function claimed(intent: UnsettledIntent): Promise<UnsettledIntent> {
    const claim = { keyHash: randomBytes(32), bodyHash: randomBytes(32) };
    const asked = { ...intent, ...claim, leaseMs: 1, retentionMs: 60_000 };
    expect(await db.store.idempotency.claim(asked)).toEqual({ kind: 'claimed' });
    return { ...intent, claim };
  }

  async function claimAgain({ claim, organizationId }: UnsettledIntent) {
    if (!claim) throw new Error('it has a claim');
    const generationId = newId('gen', Date.now());
    return db.store.idempotency.claim({ ...claim, organizationId, generationId, leaseMs: 1, retentionMs: 60_000 });
  }

  it('charges the delivered part of a stream and its prompt once, also if recovery is repeated', async () => {
    const one = left();
    const away = () => Promise.reject(new StoreUnavailable('away'));
    await expect(chargeLeft([one], { chargedAmong: away })).rejects.toThrow(StoreUnavailable);
    await expect(chargeLeft([one], { charge: away })).rejects.toThrow(StoreUnavailable);
    expect(released).toEqual([]);
    await chargeLeft([one]);
    await chargeLeft([one]);
    expect(await generation(one)).toMatchObject({
      ...{ finishReason: 'error', usageCounted: true, cancelled: false, streamed: true, upstreamId: 'up-1' },
      ...{ provider: 'p', providerModel: 'pm', costNanoUsd: 50_000n, firstEventMs: 100, generationTimeMs: 300 },
      usage: { ...NO_USAGE, promptTokens: 20, completionTokens: 30 },
    });
    expect([await spent(), released, attempts]).toEqual([50_000n, [one.generationId, one.generationId], []]);
  });

  it.each<[sent: string | undefined, named: string | undefined, charged: bigint, lost: bigint, billed: bigint]>([
    ['flex', undefined, 25_000n, 0n, 25_000n],
    ['flex', 'default', 25_000n, 25_000n, 50_000n],
    ['flex', 'turbo', 25_000n, 0n, 25_000n],
    [undefined, undefined, 50_000n, 0n, 50_000n],
    [undefined, 'flex', 25_000n, 0n, 25_000n],
  ])(
    'charges flex that was sent as %s and named as %s as a live process does',
    async (sent, named, charged, lost, billed) => {
      const half = { ...PRICES, inputPicoUsd: 500_000n, outputPicoUsd: 500_000n };
      const priceTable = { ...flatTable(PRICES), serviceTiers: new Map([['flex', flatTable(half)]]) };
      const tier = named === undefined ? {} : { serviceTier: named };
      const ended = { usage: { ...NO_USAGE, promptTokens: 20, completionTokens: 30 }, usageCounted: false, ...tier };
      // The organization's price list is half of the model's own prices.
      const ownTable = changedByPercent(priceTable, 100 * PERCENT_PARTS);
      const one = left({ priceTable, ownTable, askedTier: 'flex', delivered: { ...DELIVERED, ended } });
      const asked = { ...one.asked, costTable: priceTable, ...(sent === undefined ? {} : { sentTier: sent }) };
      await chargeLeft([{ ...one, asked }]);
      await chargeLeft([{ ...one, asked }]);
      expect((await generation(one))?.costNanoUsd).toBe(charged);
      const losses = (await db.store.administration.losses(0)).filter((loss) => loss.generationId === one.generationId);
      expect(losses.map(({ reason, amountNanoUsd }) => [reason, amountNanoUsd])).toEqual(
        lost === 0n ? [] : [['tier', lost]],
      );
      const costs = await sql(
        db.url,
        `select cost_nano_usd, list_nano_usd from generation_costs where generation_id = '${one.generationId}'`,
      );
      expect(costs).toEqual([{ cost_nano_usd: String(billed), list_nano_usd: String(2n * charged) }]);
      expect((await db.store.administration.verifyLedger()).differences).toEqual([]);
    },
  );

  it('charges for the user that the request named', async () => {
    await chargeLeft([left({ user: 'ada' }), left()]);
    const groupBy = new Set(['user'] as const);
    const rows = await usageOf(db.store.ledger, { ...customer, firstDay: DAY, lastDay: DAY, groupBy });
    expect(rows.map(({ user, costNanoUsd }) => [user, costNanoUsd])).toEqual([
      ['ada', 50_000n],
      [null, 50_000n],
    ]);
  });

  it('charges for the API that the client spoke', async () => {
    const [atDoor, chat] = [left({ api: 'responses' }), left()];
    await chargeLeft([atDoor, chat]);
    expect([(await generation(atDoor))?.api, (await generation(chat))?.api]).toEqual(['responses', 'chat']);
  });

  it('charges at most the output limit and at most the hold', async () => {
    const long = left({ delivered: { ...DELIVERED, tokens: 1_000 } });
    const capped = left({ holdNanoUsd: 10_000n });
    await chargeLeft([long, capped]);
    expect((await generation(long))?.usage.completionTokens).toBe(50);
    expect((await generation(capped))?.costNanoUsd).toBe(10_000n);
  });

  it('charges the reported prompt, and the output that was delivered since the report', async () => {
    const usage = { ...NO_USAGE, promptTokens: 9, cachedTokens: 8 };
    const begun = left({ delivered: { ...DELIVERED, reported: { usage } } });
    const counted = { ...usage, completionTokens: 40 };
    const updated = left({ delivered: { ...DELIVERED, reported: { usage: counted, serviceTier: 'flex' } } });
    await chargeLeft([begun, updated]);
    expect(await generation(begun)).toMatchObject({ usage: { ...usage, completionTokens: 30 }, usageCounted: true });
    expect(await generation(updated)).toMatchObject({ usage: counted, serviceTier: 'flex' });
  });

  it('charges a stream that had ended by its known usage', async () => {
    const usage = { ...NO_USAGE, promptTokens: 7, completionTokens: 3, cachedTokens: 2, reasoningTokens: 1 };
    const one = left({ delivered: { ...DELIVERED, ended: { usage, usageCounted: false } } });
    await chargeLeft([one]);
    expect(await generation(one)).toMatchObject({ usage, usageCounted: false, costNanoUsd: 10_000n });
  });

  it('does not charge again what was charged just before the crash, and ends its hold', async () => {
    const one = left();
    const { asked: _asked, delivered: _delivered, claim: _claim, ...facts } = one;
    const usage = { ...NO_USAGE, promptTokens: 1, completionTokens: 1 };
    const times = { firstEventMs: 1, generationTimeMs: 1, usage, usageCounted: false, cancelled: false };
    await db.store.ledger.charge({
      ...facts,
      ...times,
      prices: PRICES,
      provider: 'p',
      providerModel: 'm',
      costNanoUsd: 2_000n,
    });
    await chargeLeft([one]);
    expect([await spent(), released, attempts]).toEqual([2_000n, [one.generationId], []]);
  });

  it.each<[string, Partial<UnsettledIntent>]>([
    ['JSON', { streamed: false }],
    ['a stream that had not begun', {}],
  ])('charges nothing for %s, records the attempt and frees the key', async (_, changes) => {
    const { delivered: _delivered, ...begun } = await claimed(left(changes));
    await chargeLeft([begun]);
    expect([await spent(), released]).toEqual([0n, [begun.generationId]]);
    expect(attempts).toEqual([
      {
        ...{ generationId: begun.generationId, organizationId: begun.organizationId, keyId: begun.keyId, model: 'm' },
        ...recorded(begun),
        ...{ result: 'crash', reason: 'crash', loss: { reason: 'crash', amountNanoUsd: 20_000n } },
        tokens: {
          usage: { ...NO_USAGE, promptTokens: 20 },
          source: 'estimated',
        },
      },
    ]);
    expect(await claimAgain(begun)).toEqual({ kind: 'claimed' });
  });

  it('frees the key of a stream with its charge', async () => {
    const one = await claimed(left());
    await chargeLeft([one]);
    expect(await spent()).toBe(50_000n);
    expect(await claimAgain(one)).toEqual({ kind: 'claimed' });
  });

  it('books a loss instead of a charge if another attempt has taken over the key', async () => {
    const one = await claimed(left());
    await expect.poll(() => claimAgain(one)).toEqual({ kind: 'claimed' });
    await chargeLeft([one]);
    expect([await spent(), released]).toEqual([0n, [one.generationId]]);
    expect(attempts[0]?.loss).toEqual({ reason: 'taken_over', amountNanoUsd: 50_000n });
  });

  it('records the attempt of a request that the ledger refuses, and charges the others', async () => {
    const [refused, one] = [left({ keyId: newId('key', Date.now()) }), left()];
    await chargeLeft([refused, one]);
    expect(await spent()).toBe(50_000n);
    const { generationId, organizationId, keyId } = refused;
    expect(attempts).toEqual([
      {
        ...{ generationId, organizationId, keyId, model: 'm', upstreamId: 'up-1', ...recorded(refused) },
        ...{ result: 'ok', reason: 'not_charged' },
        tokens: { usage: { ...NO_USAGE, promptTokens: 20, completionTokens: 30 }, source: 'counted' },
      },
    ]);
    const letters = await sql(
      db.url,
      `select delivered from dead_letters where generation_id = '${refused.generationId}'`,
    );
    expect(letters).toEqual([{ delivered: true }]);
  });
});
