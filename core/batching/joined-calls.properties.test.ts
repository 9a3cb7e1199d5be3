import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJoinedCalls, createLanesOfCalls, type Outcome } from './joined-calls.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Step =
  | { readonly kind: 'call'; readonly items: number }
  | { readonly kind: 'end'; readonly batch: number; readonly as: 'done' | 'failed' | 'half' };

const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('call' as const), items: fc.integer({ min: 1, max: 6 }) }),
    fc.record({
      kind: fc.constant('end' as const),
      batch: fc.nat({ max: 3 }),
      as: fc.constantFrom('done' as const, 'failed' as const, 'half' as const),
    }),
  ),
  { maxLength: 30 },
);
const BOUNDS = fc.record({
  maxBatch: fc.integer({ min: 1, max: 5 }),
  maxInFlight: fc.integer({ min: 1, max: 3 }),
  maxWaiting: fc.integer({ min: 1, max: 12 }),
});
/** Of so many items one is urgent. */
const URGENCY = fc.constantFrom(Number.POSITIVE_INFINITY, 7, 2);

interface Batch {
  readonly items: readonly number[];
  end(as: 'done' | 'failed' | 'half'): void;
}

/** Even items of a half succeed, odd ones do not. */
function outcomeOf(item: number, as: 'done' | 'half'): Outcome<number> {
  return as === 'done' || item % 2 === 0 ? { ok: true, value: item * 10 } : { ok: false, error: item };
}

function gated(open: Batch[]) {
  return (items: readonly number[]): Promise<readonly Outcome<number>[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome<number>[]>();
    const batch: Batch = {
      items,
      end(as) {
        open.splice(open.indexOf(batch), 1);
        if (as === 'failed') reject(new Error('away'));
        else resolve(items.map((item) => outcomeOf(item, as)));
      },
    };
    open.push(batch);
    return promise;
  };
}

describe('joined calls', () => {
  it('send each item once, in order, within all bounds, and settle each with its own outcome', () =>
    fc.assert(
      fc.asyncProperty(BOUNDS, URGENCY, STEPS, async (bounds, oneOf, steps: readonly Step[]) => {
        const open: Batch[] = [];
        const run = gated(open);
        const sent: number[] = [];
        const ends = new Map<number, 'done' | 'failed' | 'half'>();
        let idle = 0;
        const call = createJoinedCalls<number, number>({
          store: 'store',
          bounds: { ...bounds, paceMs: 0 },
          runBatch(items) {
            sent.push(...items);
            expect(items.length).toBeLessThanOrEqual(bounds.maxBatch);
            const answer = run(items);
            expect(open.length).toBeLessThanOrEqual(bounds.maxInFlight + (oneOf < Number.POSITIVE_INFINITY ? 1 : 0));
            return answer;
          },
          isUrgent: (item) => item % oneOf === oneOf - 1,
          onIdle: () => {
            idle++;
          },
        });
        const end = (batch: Batch | undefined, as: 'done' | 'failed' | 'half'): void => {
          for (const item of batch?.items ?? []) ends.set(item, as);
          batch?.end(as);
        };
        const calls: Promise<PromiseSettledResult<number>>[] = [];
        const refused: number[] = [];
        for (const step of steps) {
          if (step.kind === 'end') end(open[step.batch], step.as);
          else {
            for (let i = 0; i < step.items; i++) {
              const item = calls.length;
              const waiting = item - refused.length - sent.length;
              if (waiting >= bounds.maxWaiting) refused.push(item);
              calls.push(Promise.allSettled([call(item)]).then(([result]) => result));
            }
          }
          await turn();
        }
        for (let turns = 0; turns < 200 && (open.length > 0 || ends.size + refused.length < calls.length); turns++) {
          end(open[0], 'done');
          await turn();
        }
        const accepted = calls.map((_, item) => item).filter((item) => !refused.includes(item));
        expect(sent).toEqual(accepted);
        const results = await Promise.all(calls);
        results.forEach((result, item) => {
          if (refused.includes(item)) expect(result).toMatchObject({ reason: { name: 'StoreUnavailable' } });
          else {
            const as = ends.get(item) ?? 'failed';
            if (as === 'failed') expect(result).toMatchObject({ reason: new Error('away') });
            else {
              const outcome = outcomeOf(item, as);
              expect(result).toMatchObject(outcome.ok ? { value: outcome.value } : { reason: outcome.error });
            }
          }
        });
        expect(idle > 0).toBe(accepted.length > 0);
      }),
    ));
});

describe('lanes of joined calls', () => {
  it('do not wait for each other, and an idle one begins again', async () => {
    const open: Batch[] = [];
    const sent: (readonly number[])[] = [];
    const run = gated(open);
    const call = createLanesOfCalls<number, number>({
      store: 'store',
      bounds: { maxBatch: 10, maxInFlight: 1, paceMs: 0, maxWaiting: 10 },
      runBatch(items) {
        sent.push(items);
        return run(items);
      },
    });
    const first = call('lane', 1);
    await turn();
    const second = [call('lane', 2), call('lane', 3)];
    const other = call('other', 4);
    await turn();
    expect(sent).toEqual([[1], [4]]);
    open[0]?.end('done');
    expect(await first).toBe(10);
    await expect.poll(() => sent).toEqual([[1], [4], [2, 3]]);
    for (const batch of [...open]) batch.end('done');
    expect(await Promise.all([...second, other])).toEqual([20, 30, 40]);
    const last = call('lane', 5);
    await expect.poll(() => open.length).toBe(1);
    open[0]?.end('done');
    expect(await last).toBe(50);
  });
});
