import { tmpdir } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Ledger, Settlement } from '#database/ledger/ledger.ts';
import { ChargeRefused } from '#database/ledger/ledger.ts';
import { noRecentCharges } from '#test/fixtures/no-journal.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { DurableCharges } from './durable-charges.ts';
import { settlement } from './settlement.fixture.ts';
import type { Spool } from './spool/spool.ts';
import { type SpoolRoom, watchSpoolRoom } from './spool/spool-room.ts';

const log = { info() {}, warn() {}, error() {} } as unknown as Log;
const metrics = { settlementFailed() {}, chargeLost() {}, chargeDeadLettered() {} } as unknown as Metrics;
let charges: DurableCharges;
let room: SpoolRoom;
afterEach(async () => {
  await charges.close();
  room.close();
});

it('spools what PostgreSQL has not confirmed once the process ends, and what comes later at once', async () => {
  const spooled: string[] = [];
  const append = async ({ generationId }: Settlement) => void spooled.push(generationId);
  const spool = { append, prove: async () => {}, pending: () => [] } as unknown as Spool;
  let asked = 0;
  const charge = () => {
    asked += 1;
    return new Promise(() => {});
  };
  room = await watchSpoolRoom(tmpdir(), spool);
  const ledger = { charge } as unknown as Ledger;
  const releaseHold = async () => {};
  const uncharged = () => undefined;
  const of = { ledger, spool, room, metrics, log, uncharged, recent: noRecentCharges };
  charges = new DurableCharges({ ...of, releaseHold, liveHold: () => undefined, oweHold: () => undefined });
  const usage = { promptTokens: 1, completionTokens: 1 };
  const waiting = charges.charge({ generationId: 'gen-1', usage } as Settlement);
  charges.spoolAfter(0);
  expect(await waiting).toBe('spooled');
  expect(await charges.charge({ generationId: 'gen-2', usage } as Settlement)).toBe('spooled');
  expect([spooled, asked]).toEqual([['gen-1', 'gen-2'], 1]);
});

it('refuses what is new once neither PostgreSQL nor the disk took a charge, until the disk takes something again', async () => {
  let full = true;
  const onDisk = async () => {
    if (full) throw new Error('no space left on device');
  };
  const spool = { append: onDisk, prove: onDisk, pending: () => [] } as unknown as Spool;
  const ledger = { charge: () => Promise.reject(new StoreUnavailable('away')) } as unknown as Ledger;
  room = await watchSpoolRoom(tmpdir(), spool);
  charges = new DurableCharges({
    ledger,
    spool,
    room,
    metrics,
    log,
    releaseHold: async () => {},
    uncharged: () => undefined,
    liveHold: () => undefined,
    oweHold: () => undefined,
    recent: noRecentCharges,
  });
  expect(charges.refusesBecause()).toBeUndefined();

  expect(await charges.charge({ generationId: 'gen-1', usage: {} } as Settlement)).toBe('lost');
  expect(charges.refusesBecause()).toContain('could not be written');
  // The disk is asked again, and the reason is the current one.
  await expect.poll(() => charges.refusesBecause()).toContain('no space left on device');
  full = false;
  await expect.poll(() => charges.refusesBecause()).toBeUndefined();
});

it.each<[what: string, error: unknown, letter: () => Promise<void>]>([
  ['fails in a way that it has not failed before', new Error('XX000'), () => Promise.reject(new Error('not asked'))],
  [
    'refuses a charge and the dead letter as well',
    new ChargeRefused('impossible'),
    () => Promise.reject(new StoreUnavailable('away')),
  ],
])('spools the charge, keeps its hold and refuses what is new while the ledger %s', async (_, error, letter) => {
  const waiting: Settlement[] = [];
  const spool = {
    append: async (one: Settlement) => void waiting.push(one),
    pending: () => waiting.map(({ generationId }) => ({ generationId, bytes: 1 })),
    read: async () => waiting[0],
    remove: async () => void waiting.pop(),
  } as unknown as Spool;
  const ledger = { charge: () => Promise.reject(error), deadLetter: letter };
  const released: string[] = [];
  room = await watchSpoolRoom(tmpdir(), spool);
  charges = new DurableCharges({
    ...{ ledger: ledger as unknown as Ledger, spool, room, metrics, log },
    releaseHold: async ({ generationId }) => void released.push(generationId),
    uncharged: () => undefined,
    liveHold: () => undefined,
    oweHold: () => undefined,
    recent: noRecentCharges,
  });
  expect(await charges.charge({ generationId: 'gen-1', usage: {} } as Settlement)).toBe('spooled');
  await expect(charges.replay()).rejects.toBe(error);
  expect([released, charges.refusesBecause()]).toEqual([[], expect.stringContaining('wait')]);
  Object.assign(ledger, { charge: async () => ({}), deadLetter: async () => undefined });
  await charges.replay();
  expect([released, charges.refusesBecause()]).toEqual([['gen-1'], undefined]);
});

it('tells of an answer that was given, and whose charge is refused when it leaves the spool, unless that is known', async () => {
  const claim = { keyHash: Buffer.alloc(32), bodyHash: Buffer.alloc(32) };
  const known = { ...settlement, generationId: 'gen-known', claim: { ...claim, takenOver: true } };
  let waiting = [{ ...settlement, generationId: 'gen-late', claim }, known];
  const spool = {
    pending: () => waiting.map(({ generationId }) => ({ generationId, bytes: 1 })),
    read: async (id: string) => waiting.find(({ generationId }) => generationId === id),
    remove: async (id: string) => {
      waiting = waiting.filter(({ generationId }) => generationId !== id);
    },
  } as unknown as Spool;
  const ledger = { chargeClaimed: async () => undefined, lose: async () => {} } as unknown as Ledger;
  const uncharged: string[] = [];
  room = await watchSpoolRoom(tmpdir(), spool);
  charges = new DurableCharges({
    ...{ ledger, spool, room, metrics, log, recent: noRecentCharges },
    releaseHold: async () => {},
    uncharged: ({ generationId }) => void uncharged.push(generationId),
    liveHold: () => undefined,
    oweHold: () => undefined,
  });
  await charges.replay();
  expect(uncharged).toEqual(['gen-late']);
});
