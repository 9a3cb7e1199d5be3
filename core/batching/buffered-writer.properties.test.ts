import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../store-unavailable.ts';
import { BufferedWriter } from './buffered-writer.ts';

interface Item {
  readonly id: number;
  readonly size: number;
}

type Step = { readonly kind: 'add'; readonly sizes: readonly number[] } | { readonly kind: 'wait' };

const BOUNDS = fc.record({
  capacity: fc.integer({ min: 1, max: 20 }),
  batch: fc.integer({ min: 1, max: 6 }),
});
const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('add' as const), sizes: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 8 }) }),
    fc.record({ kind: fc.constant('wait' as const) }),
  ),
  { maxLength: 12 },
);
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const messages = { failing: '', recovered: '', full: '', lost: '' };
const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

it('writes each accepted item once and in order, in batches and within a capacity, whatever fails on the way', () =>
  fc.assert(
    fc.asyncProperty(BOUNDS, STEPS, fc.array(fc.boolean(), { maxLength: 20 }), async (bounds, steps, failures) => {
      const settled: Item[] = [];
      const refused: Item[] = [];
      let calls = 0;
      let inFlight = 0;
      let repeated: readonly Item[] | undefined;
      let adding: Item | undefined;
      const writer = new BufferedWriter<Item>({
        async write(batch) {
          expect(++inFlight).toBe(1);
          if (repeated !== undefined) expect(batch).toEqual(repeated);
          const size = batch.reduce((sum, item) => sum + item.size, 0);
          expect(size - (batch.at(-1)?.size ?? 0)).toBeLessThan(bounds.batch);
          await Promise.resolve();
          inFlight--;
          if (failures[calls++] === true) {
            repeated = batch;
            throw new StoreUnavailable('unavailable');
          }
          repeated = undefined;
          settled.push(...batch);
        },
        bounds: { ...bounds, everyMs: 1, firstRetryMs: 1, longestRetryMs: 2 },
        sizeOf: ({ size }) => size,
        onDropped(reason, size) {
          expect([reason, size]).toEqual(['full', adding?.size]);
          if (adding) refused.push(adding);
        },
        log: silent,
        messages,
      });
      const added: Item[] = [];
      for (const step of steps as readonly Step[]) {
        if (step.kind === 'wait') await moment();
        else {
          for (const size of step.sizes) {
            adding = { id: added.length, size };
            added.push(adding);
            writer.add(adding);
            expect(writer.waiting()).toBeLessThanOrEqual(bounds.capacity);
          }
        }
      }
      expect(await writer.close(60_000)).toBe(true);
      expect(settled).toEqual(added.filter((item) => !refused.includes(item)));
      expect(writer.waiting()).toBe(0);
    }),
  ));
