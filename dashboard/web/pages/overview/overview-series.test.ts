import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OverviewSeries } from '#contract/organization.ts';
import { inKnownOrder, OTHER_ID, seriesId, shownSeries } from './overview-series.ts';

function series(id?: string): OverviewSeries {
  return {
    ...(id !== undefined && { id }),
    label: id ?? 'Other',
    costNanoUsd: ['1500000000', '0'],
    requests: [3, 0],
    tokens: [40, 0],
  };
}

describe('series of the overview', () => {
  it('keep their order while they are the same ones', () => {
    const shown = inKnownOrder([series('b'), series('a'), series()], ['a', 'b', OTHER_ID]);
    expect(shown.map(seriesId)).toEqual(['a', 'b', OTHER_ID]);
  });

  it('come in their own order where one came or went', () => {
    for (const known of [[], ['a'], ['a', 'c'], ['a', 'b', 'c']]) {
      expect(inKnownOrder([series('b'), series('a')], known).map(seriesId)).toEqual(['b', 'a']);
    }
  });

  it('are all there, once, in any order', () => {
    const ids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
    fc.assert(
      fc.property(ids, ids, (now, known) => {
        const shown = inKnownOrder(now.map(series), known).map(seriesId);
        expect(shown.toSorted()).toEqual(now.toSorted());
      }),
    );
  });

  it('have the values of what is measured', () => {
    const [shown] = shownSeries([series('a')], 'cost');
    expect(shown).toEqual({ id: 'a', label: 'a', isOther: false, values: [1.5, 0] });
    expect(shownSeries([series()], 'requests')[0]).toEqual({
      id: OTHER_ID,
      label: 'Other',
      isOther: true,
      values: [3, 0],
    });
    expect(shownSeries([series('a')], 'tokens')[0]?.values).toEqual([40, 0]);
  });
});
