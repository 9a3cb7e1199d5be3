import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Target } from '#core/config/gateway-config.ts';
import { numbersFrom } from '#test/fixtures/seeded-numbers.ts';
import { provider } from '../admitted-request.fixture.ts';
import { drawOrder } from './target-order.ts';

/** `undefined`: no weight. Neighbours with one are a step, as in the configuration. */
function targetsWith(weights: readonly (number | undefined)[]): Target[] {
  return weights.map((weight, index) => {
    const target = { provider: provider('alpha'), model: String(index), api: 'chat' as const };
    if (weight === undefined) return target;
    let step = index;
    while (weights[step - 1] !== undefined) step -= 1;
    return { ...target, draw: { step, weight } };
  });
}

const weight = fc.integer({ min: 1, max: 1000 });

describe('the order of targets', () => {
  test('has each target once, steps in their order, and targets without a weight in their place', () => {
    const lists = fc.array(fc.option(weight, { nil: undefined }), { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(lists, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 16 }), (weights, draws) => {
        const targets = targetsWith(weights);
        const left = [...draws];
        const order = drawOrder(targets, () => left.shift() ?? 0);
        const stepOf = (target: Target) => target.draw?.step ?? targets.indexOf(target);
        expect(order.map(stepOf)).toEqual(targets.map(stepOf));
        expect(new Set(order)).toEqual(new Set(targets));
      }),
    );
  });

  test('draws each target first in proportion to its weight, and the rest in the same way', () => {
    const DRAWS = 20_000;
    fc.assert(
      fc.property(fc.array(weight, { minLength: 2, maxLength: 4 }), fc.integer(), (weights, seed) => {
        const targets = targetsWith(weights);
        const random = numbersFrom(seed);
        const [firsts, seconds] = [weights.map(() => 0), weights.map(() => 0)];
        for (let draw = 0; draw < DRAWS; draw++) {
          const [first, second] = drawOrder(targets, random).map(({ model }) => Number(model));
          firsts[first ?? -1] = (firsts[first ?? -1] ?? 0) + 1;
          seconds[second ?? -1] = (seconds[second ?? -1] ?? 0) + 1;
        }
        const sum = weights.reduce((all, one) => all + one, 0);
        for (const [index, one] of weights.entries()) {
          const first = one / sum;
          let second = 0;
          for (const [other, its] of weights.entries())
            if (other !== index) second += (its / sum) * (one / (sum - its));
          expectShare(firsts[index] ?? 0, first, DRAWS);
          expectShare(seconds[index] ?? 0, second, DRAWS);
        }
      }),
      { numRuns: 20, seed: 16 },
    );
  });
});

/** Within six standard deviations, which chance leaves once in 500 million. */
function expectShare(count: number, share: number, draws: number): void {
  const deviation = Math.sqrt(draws * share * (1 - share));
  expect(Math.abs(count - draws * share)).toBeLessThanOrEqual(6 * deviation + 1);
}
