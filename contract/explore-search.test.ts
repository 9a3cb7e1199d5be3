import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { queryText, readQuery } from './define-search.ts';
import { LONGEST_EXPLORED_MS, SHORTEST_EXPLORED_MS } from './explore.ts';
import { exploreInput } from './explore-filter.ts';
import { boundsOf, exploreSearch, exploreSearchOfOne, filterOf, RANGES, type Range, spanOf } from './explore-search.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const KEY = `key-${'0'.repeat(26)}`;
const fromAddress = (query: string) => exploreSearch(readQuery(query));

describe('the address of the explorer', () => {
  it('has lists as repeated parameters, and a single value as plain text', () => {
    expect(fromAddress('?model=gpt-5&model=small&code=rpm_exceeded&user=')).toEqual({
      model: ['gpt-5', 'small'],
      code: ['rpm_exceeded'],
      user: [''],
    });
  });

  it('drops exactly what the server would refuse', () => {
    const wrong = '?range=ever&key=backend&open=log-1&status=42&outcome=maybe&by=metadata.&cost=-1&compare=no';
    expect(fromAddress(`${wrong}&model=gpt-5`)).toEqual({ model: ['gpt-5'] });
    expect(fromAddress(`?${Array.from({ length: 51 }, (_, at) => `user=u${at}`).join('&')}`)).toEqual({});
  });

  it('survives a round trip, including texts that look like other values', () => {
    const name = fc.constantFrom('gpt-5', 'x'.repeat(577), 'true', '007', '1e3', 'null', '["a"]', 'a,b', 'x=y&z', 'ü');
    const state = fc.record({
      user: fc.uniqueArray(name, { minLength: 1 }),
      metadata: fc.uniqueArray(
        name.map((value) => `team=${value}`),
        { minLength: 1 },
      ),
      by: fc.constantFrom('user' as const, 'metadata.team' as const),
      fromMs: fc.nat(),
    });
    fc.assert(fc.property(state, (given) => void expect(fromAddress(queryText(given))).toEqual(given)));
  });
});

describe('the time of a list', () => {
  it('has no end unless one is chosen, and no start for all time', () => {
    expect(boundsOf({}, NOW_MS)).toEqual({});
    expect(boundsOf({ range: '24h' }, NOW_MS)).toEqual({ fromMs: NOW_MS - DAY_MS });
    expect(boundsOf({ range: '24h', toMs: 7 }, NOW_MS)).toEqual({ toMs: 7 });
    expect(boundsOf({ fromMs: 0, toMs: 7 }, NOW_MS)).toEqual({ fromMs: 0, toMs: 7 });
  });
});

describe('the time range', () => {
  it('is the last seven days, or the chosen range', () => {
    expect(spanOf({}, NOW_MS)).toEqual({ fromMs: NOW_MS - 7 * DAY_MS, toMs: NOW_MS });
    expect(spanOf({ range: '15m' }, NOW_MS)).toEqual({ fromMs: NOW_MS - 900_000, toMs: NOW_MS });
  });

  it('has whole UTC days for calendar ranges', () => {
    const day = (month: number, date: number) => Date.UTC(2026, month, date);
    expect(spanOf({ range: 'yesterday' }, NOW_MS)).toEqual({ fromMs: day(10, 20), toMs: day(10, 21) });
    expect(spanOf({ range: 'last-month' }, NOW_MS)).toEqual({ fromMs: day(9, 1), toMs: day(10, 1) });
    expect(spanOf({ range: 'month' }, NOW_MS)).toEqual({ fromMs: day(10, 1), toMs: NOW_MS });
  });

  it('is always within the bounds of the server', () => {
    const moment = fc.option(fc.integer({ min: 0, max: 2 * NOW_MS }), { nil: undefined });
    const range = fc.constantFrom(...(Object.keys(RANGES) as Range[]));
    fc.assert(
      fc.property(moment, moment, range, (fromMs, toMs, name) => {
        const span = spanOf({ fromMs, toMs, range: name }, NOW_MS);
        expect(span.toMs - span.fromMs).toBeGreaterThanOrEqual(SHORTEST_EXPLORED_MS);
        expect(span.toMs - span.fromMs).toBeLessThanOrEqual(LONGEST_EXPLORED_MS);
      }),
    );
  });
});

it('sends no query that the server refuses, for any address', () => {
  const hostile = fc.constantFrom('', 'a\0', '\ud800', '=', 'x=y', '4xx', '499', '1e3', '-1', '0', '9'.repeat(15), KEY);
  const value = fc.oneof(
    hostile,
    fc.constantFrom('organization', 'metadata.a\0', 'metadata.', 'failed', 'yes'),
    fc.string(),
  );
  const parameter = fc.constantFrom(...Object.keys(exploreSearch.unfiltered), 'by');
  const given = fc.dictionary(parameter, fc.oneof(value, fc.array(value)));
  fc.assert(
    fc.property(given, (raw) => {
      const { by, ...state } = exploreSearchOfOne(raw);
      const question = { ...spanOf(state, NOW_MS), ...filterOf(state), by: by ?? 'none' };
      const sent = readQuery(queryText(question));
      const answer = exploreInput.safeParse(sent);
      expect(answer.error?.issues, JSON.stringify(sent)).toBeUndefined();
    }),
  );
});

it('sends the server what the address contains', () => {
  const state = fromAddress('?status=5xx&status=499&streamed=no&cost=1000&duration=0&outcome=failed&by=model');
  expect(filterOf(state)).toEqual({
    ...{ statusClasses: ['5xx', '499'], streamed: false, minCostNanoUsd: '1000', minDurationMs: 0 },
    outcome: 'failed',
  });
});
