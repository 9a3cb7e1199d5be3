import { afterEach, expect, it } from 'vitest';
import type { Log } from '#core/log/log.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { ChargeRefused, type Settlement } from '#database/ledger/ledger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { LedgerChanges } from './ledger-changes.ts';
import { settlement } from './settlement.fixture.ts';

const log = { info() {}, warn() {}, error() {} } as unknown as Log;
const charge = (generationId: string): Settlement => ({ ...settlement, generationId });

let changes: LedgerChanges;
afterEach(() => changes.close());

/**
 * A process that has charged these in the epoch `a`, on a ledger that has what the test gives it.
 */
function scene(kept: readonly string[], othersTakeMs = 0) {
  const ledger = { epoch: 'a', charged: new Set(kept), away: false, refused: new Set<string>() };
  const madeAgain: number[] = [];
  const released: string[] = [];
  const keptIn = new Map(kept.map((id) => [id, 'a']));
  changes = new LedgerChanges({
    ledger: {
      currentEpoch: async () => ledger.epoch,
      async renewEpochAfter(seen) {
        if (ledger.epoch === seen) ledger.epoch = `${seen}, renewed`;
      },
      chargedAmong: async (ids) => new Set(ids.filter((id) => ledger.charged.has(id))),
      async charge({ generationId }) {
        if (ledger.away) throw new StoreUnavailable('away');
        if (ledger.refused.has(generationId)) throw new ChargeRefused('of another organization');
        ledger.charged.add(generationId);
        return {} as AccountSnapshot;
      },
    },
    chargeLog: {
      lastCommits: [...keptIn].slice(-1).map(([generationId, epoch]) => ({ generationId, epoch })),
      async sendAgain(epoch, send) {
        const others = [...keptIn].filter(([, of]) => of !== epoch).map(([id]) => id);
        if (others.length > 0) await send(others.map(charge));
        for (const id of others) keptIn.set(id, epoch);
        return others.length;
      },
    },
    holds: { release: async ({ generationId }) => void released.push(generationId) },
    othersTakeMs,
    metrics: { chargedAgain: (charges: number) => void madeAgain.push(charges) } as unknown as Metrics,
    log,
  });
  return { ledger, madeAgain, released };
}

it('repeats charges that the ledger of another epoch lacks, and refuses meanwhile', async () => {
  const { ledger, madeAgain, released } = scene(['gen-1', 'gen-2', 'gen-3']);
  await changes.catchUp();
  changes.sees('a');
  expect(changes.refusesBecause()).toBeUndefined();
  Object.assign(ledger, { epoch: 'b', charged: new Set(['gen-1']), refused: new Set(['gen-3']) });
  changes.sees('b');
  expect(changes.refusesBecause()).toContain('made again');
  await expect.poll(() => changes.refusesBecause()).toBeUndefined();
  expect([[...ledger.charged], released, madeAgain]).toEqual([['gen-1', 'gen-2'], ['gen-2'], [1]]);
});

it('renews the epoch of a ledger that lacks the newest charge when the process starts', async () => {
  const { ledger, madeAgain } = scene(['gen-1', 'gen-2', 'gen-3']);
  ledger.charged = new Set(['gen-1']);
  await changes.catchUp();
  expect([ledger.epoch, [...ledger.charged], madeAgain]).toEqual(['a, renewed', ['gen-1', 'gen-2', 'gen-3'], [2]]);
});

it('renews no epoch if the ledger has the newest charge', async () => {
  const { ledger, madeAgain } = scene(['gen-1', 'gen-2']);
  await changes.catchUp();
  expect([ledger.epoch, madeAgain]).toEqual(['a', []]);
});

it('keeps refusing and retries while the ledger cannot store them', async () => {
  const { ledger, madeAgain } = scene(['gen-1']);
  await changes.catchUp();
  Object.assign(ledger, { epoch: 'b', charged: new Set(), away: true });
  changes.sees('b');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(changes.refusesBecause()).toContain('made again');
  ledger.away = false;
  await expect.poll(() => changes.refusesBecause()).toBeUndefined();
  expect([[...ledger.charged], madeAgain]).toEqual([['gen-1'], [1]]);
});

it('notices a new epoch without any request', async () => {
  const { ledger } = scene(['gen-1']);
  await changes.catchUp();
  Object.assign(ledger, { epoch: 'b', charged: new Set() });
  await expect.poll(() => [...ledger.charged]).toEqual(['gen-1']);
});

it('repeats nothing because of a late read of the previous epoch', async () => {
  const { ledger, madeAgain } = scene(['gen-1'], 60_000);
  ledger.epoch = 'b';
  await changes.catchUp();
  expect(madeAgain).toEqual([0]);
  changes.sees('a');
  await expect.poll(() => changes.refusesBecause()).toBeUndefined();
  expect(madeAgain).toEqual([0]);
});

it('waits for others that have to notice as well', async () => {
  const { ledger } = scene(['gen-1'], 200);
  await changes.catchUp();
  Object.assign(ledger, { epoch: 'b', charged: new Set() });
  const beganMs = performance.now();
  changes.sees('b');
  await expect.poll(() => changes.refusesBecause(), { interval: 5 }).toBeUndefined();
  expect(performance.now() - beganMs).toBeGreaterThan(195);
});
