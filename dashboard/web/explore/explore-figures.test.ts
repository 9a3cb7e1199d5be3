import { describe, expect, it } from 'vitest';
import type { Explore, ExploreSteps } from '#contract/explore.ts';
import { chartSeries, daysLeft, inKnownOrder, MEASURE_VIEWS, shownMeasures, stepValues } from './explore-figures.ts';

const STEPS: ExploreSteps = {
  ...{ requests: [4, 0], failures: [1, 0], costNanoUsd: ['1500000000', '0'] },
  ...{ promptTokens: [200, 0], completionTokens: [30, 0], cachedTokens: [50, 0] },
  ...{ firstEventP50Ms: [120, null], firstEventP95Ms: [900, null], tokensPerSecond: [41.7, null] },
  ...{ knownRevenueNanoUsd: ['1000000000', '0'], providerCostNanoUsd: ['1250000000', '0'] },
};

describe('the values of a measure', () => {
  it.each([
    ['cost', [1.5, 0]],
    ['margin', [-0.25, 0]],
    ['requests', [4, 0]],
    ['failures', [1, 0]],
    ['tokens', [230, 0]],
    ['cached', [0.25, undefined]],
    ['p50', [120, undefined]],
    ['p95', [900, undefined]],
    ['speed', [41.7, undefined]],
  ] as const)('are those of its steps, and unknown if there is nothing to measure: %s', (measure, values) => {
    expect(stepValues(STEPS, MEASURE_VIEWS[measure])).toEqual(values);
  });

  it('have no margin if the operator may not see one', () => {
    const { knownRevenueNanoUsd: _, ...steps } = STEPS;
    expect(stepValues(steps, MEASURE_VIEWS.margin)).toEqual([undefined, undefined]);
  });
});

it('include margin and speed if they are known', () => {
  const totals = { requests: 0, failures: 0, costNanoUsd: '0', promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  const extra = (of: Explore['totals']) => shownMeasures(of).filter((one) => one === 'margin' || one === 'speed');
  expect(extra(totals)).toEqual([]);
  const known = { ...totals, tokensPerSecond: 3, providerCostNanoUsd: '0', knownRevenueNanoUsd: '0' };
  expect(extra(known)).toEqual(['margin', 'speed']);
});

describe('the series of a chart', () => {
  const none = { ...STEPS, firstEventP50Ms: [null, null] };
  const explore = (series: Explore['series']) => ({ series }) as Explore;

  it('name requests without a value, and the sum of the others', () => {
    const shown = chartSeries(
      explore([
        { id: 'a', label: 'A', steps: STEPS },
        { id: '', label: '', steps: STEPS },
        { label: 'Other', steps: STEPS },
      ]),
      MEASURE_VIEWS.cost,
    );
    expect(shown.map(({ id, label, isOther }) => [id, label, isOther])).toEqual([
      ['a', 'A', false],
      ['', 'None', false],
      ['*', 'Other', true],
    ]);
  });

  it('have the colour of their status class, whichever others there are', () => {
    const series = ['5xx', '2xx', 'a'].map((id) => ({ id, label: id, steps: STEPS }));
    const colours = (only: typeof series) =>
      chartSeries(explore(only), MEASURE_VIEWS.requests).map(({ colour }) => colour);
    expect(colours(series)).toEqual([7, 0, undefined]);
    expect(colours(series.slice(0, 1))).toEqual([7]);
  });

  it('leave out lines without known values', () => {
    const series = [
      { id: 'a', label: 'A', steps: none },
      { id: 'b', label: 'B', steps: STEPS },
    ];
    expect(chartSeries(explore(series), MEASURE_VIEWS.p50).map(({ id }) => id)).toEqual(['b']);
    expect(chartSeries(explore(series), MEASURE_VIEWS.cost).map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('keep their order, and so their colours, as long as they are the same', () => {
    const named = (...ids: string[]) => ids.map((id) => ({ id, label: id, values: [] }));
    const order = (ids: string[], known: string[]) => inKnownOrder(named(...ids), known).map(({ id }) => id);
    expect(order(['b', 'a'], ['a', 'b'])).toEqual(['a', 'b']);
    expect(order(['b', 'c'], ['a', 'b'])).toEqual(['b', 'c']);
    expect(order(['b', 'a', 'c'], ['a', 'b'])).toEqual(['b', 'a', 'c']);
  });
});

it('a balance lasts as long as it did in the range', () => {
  expect(daysLeft('70', '10', 7 * 86_400_000)).toBe(49);
  expect(daysLeft('-5', '10', 86_400_000)).toBe(0);
  expect(daysLeft('70', '0', 86_400_000)).toBeUndefined();
});
