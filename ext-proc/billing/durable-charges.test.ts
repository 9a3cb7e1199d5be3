import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { ChargeRefused, type ClaimedSettlement, type Ledger, type Settlement } from '#database/ledger/ledger.ts';
import { type MemoryChargeLog, memoryChargeLog } from '#test/fixtures/memory-charge-log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { DurableCharges } from './durable-charges.ts';
import { settlement } from './settlement.fixture.ts';

const log = { info() {}, warn() {}, error() {} } as unknown as Log;
const metrics = { settlementFailed() {}, chargeLost() {}, chargeDeadLettered() {} } as unknown as Metrics;
const CLAIM = { keyHash: Buffer.alloc(32), bodyHash: Buffer.alloc(32) };
const of = (generationId: string): Settlement => ({ ...settlement, generationId });
const away = () => Promise.reject(new StoreUnavailable('away'));

describe('durable charges', () => {
  let charges: DurableCharges;
  let chargeLog: MemoryChargeLog;
  let ledger: Record<'charge' | 'chargeClaimed' | 'deadLetter' | 'lose', (one: Settlement) => Promise<unknown>>;
  let durableIn: 'log' | 'database';
  let owed: string[];
  let released: string[];
  let uncharged: string[];

  beforeEach(() => {
    chargeLog = memoryChargeLog();
    const charge = async () => ({ ledgerEpoch: 'epoch' });
    ledger = { charge, chargeClaimed: charge, deadLetter: async () => {}, lose: async () => {} };
    durableIn = 'log';
    [owed, released, uncharged] = [[], [], []];
    charges = open();
  });
  afterEach(() => charges.close());

  function open(): DurableCharges {
    return new DurableCharges({
      ...{ ledger: ledger as unknown as Ledger, chargeLog, clock, metrics, log, durableIn: () => durableIn },
      room: { problem: () => undefined },
      holds: {
        owe: ({ generationId }) => void owed.push(generationId),
        release: async ({ generationId }) => void released.push(generationId),
        releaseKept: async () => undefined,
      },
      uncharged: ({ generationId }) => void uncharged.push(generationId),
    });
  }

  it('are durable in the log, which frees slot and tokens, and end the hold at the commit', async () => {
    expect(await charges.charge(of('gen-1'))).toBe('logged');
    expect([owed, released, charges.shipper.waitingFor(0)]).toEqual([['gen-1'], [], ['gen-1']]);
    await expect.poll(() => released).toEqual(['gen-1']);
    expect(chargeLog.committedGroups).toEqual([{ generationIds: ['gen-1'], epoch: 'epoch' }]);
  });

  it('are committed before the response ends if they have a claim or `durable_in` is database', async () => {
    const claimed: ClaimedSettlement = { ...of('gen-claimed'), claim: CLAIM };
    expect(await charges.charge(claimed)).toBe('charged');
    durableIn = 'database';
    expect(await charges.charge(of('gen-1'))).toBe('charged');
    expect([released, charges.shipper.waitingFor(0)]).toEqual([['gen-claimed', 'gen-1'], []]);
  });

  it('store a response in PostgreSQL, and in the log only if PostgreSQL is unavailable', async () => {
    const claimed: ClaimedSettlement = { ...of('gen-1'), claim: { ...CLAIM, response: Buffer.from('response') } };
    const logged: unknown[] = [];
    const { append } = chargeLog;
    const noted = Promise.withResolvers<void>();
    chargeLog.append = async (one) => {
      await noted.promise;
      logged.push([one.generationId, 'claim' in one && 'response' in one.claim]);
      await append(one);
    };
    expect(await charges.charge(claimed)).toBe('charged');
    noted.resolve();
    await expect.poll(() => chargeLog.committedGroups).toContainEqual({ generationIds: ['gen-1'], epoch: 'epoch' });
    expect(chargeLog.waiting()).toEqual([]);
    ledger.chargeClaimed = away;
    expect(await charges.charge({ ...claimed, generationId: 'gen-2' })).toBe('logged');
    expect(logged).toEqual([
      ['gen-1', false],
      ['gen-2', true],
    ]);
    expect([charges.shipper.waitingFor(0), owed]).toEqual([['gen-2'], ['gen-2']]);
  });

  it('wait in the log if PostgreSQL is unavailable, and without a try once the process ends', async () => {
    durableIn = 'database';
    let asked = 0;
    ledger.charge = () => {
      asked += 1;
      return away();
    };
    expect(await charges.charge(of('gen-1'))).toBe('logged');
    charges.shipper.waitNoMore();
    await expect.poll(() => charges.charge(of('gen-2'))).toBe('logged');
    expect([asked > 0, charges.shipper.waitingFor(0).includes('gen-1'), released]).toEqual([true, true, []]);
  });

  it('wait for the commit if the disk fails, and are lost only if the commit fails too', async () => {
    const { append } = chargeLog;
    Object.assign(chargeLog, {
      append: () => Promise.reject(new Error('no space left on device')),
      isFailing: () => true,
    });
    expect(await charges.charge(of('gen-1'))).toBe('charged');
    expect(charges.refusesBecause()).toBeUndefined();
    ledger.charge = away;
    expect(await charges.charge(of('gen-2'))).toBe('lost');
    expect([charges.shipper.waitingFor(0), charges.refusesBecause()]).toEqual([[], expect.stringContaining('lost')]);
    Object.assign(chargeLog, { append, isFailing: () => false });
    expect(charges.refusesBecause()).toBeUndefined();
    expect(await charges.charge(of('gen-3'))).toBe('logged');
    // The disk fails again, but no charge is lost yet.
    Object.assign(chargeLog, { isFailing: () => true });
    expect(charges.refusesBecause()).toBeUndefined();
  });

  it.each<[what: string, error: unknown, letter: () => Promise<void>]>([
    ['fails in a way that it has not failed before', new Error('XX000'), () => Promise.reject(new Error('not asked'))],
    [
      'refuses a charge and the dead letter as well',
      new ChargeRefused('impossible'),
      () => Promise.reject(new StoreUnavailable('away')),
    ],
  ])('keep their holds while the ledger %s', async (_, error, letter) => {
    ledger.charge = () => Promise.reject(error);
    ledger.deadLetter = letter;
    expect(await charges.charge(of('gen-1'))).toBe('logged');
    await expect(charges.shipper.ship()).rejects.toBe(error);
    expect([released, charges.shipper.waitingFor(0)]).toEqual([[], ['gen-1']]);
    Object.assign(ledger, { charge: async () => ({}), deadLetter: async () => undefined });
    await charges.shipper.ship();
    expect([released, charges.shipper.waitingFor(0)]).toEqual([['gen-1'], []]);
  });

  it('record a delivered response whose charge is refused, unless that is recorded already', async () => {
    ledger.chargeClaimed = async () => undefined;
    await chargeLog.append({ ...of('gen-late'), claim: CLAIM } as Settlement);
    await chargeLog.append({ ...of('gen-known'), claim: { ...CLAIM, takenOver: true } } as Settlement);
    await charges.close();
    charges = open();
    await charges.shipper.ship();
    expect([uncharged, released]).toEqual([['gen-late'], ['gen-late', 'gen-known']]);
  });
});
