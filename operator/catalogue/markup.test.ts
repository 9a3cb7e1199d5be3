import { expect, it } from 'vitest';
import { markedUp, parseMarkup } from './markup.ts';

it.each([
  ['15', 150_000n],
  ['15%', 150_000n],
  ['7.5%', 75_000n],
  ['0', 0n],
  ['0.0001', 1n],
  ['9999', 99_990_000n],
])('reads the markup %s', (text, markup) => {
  expect(parseMarkup(text)).toBe(markup);
});

it.each(['', '%', '-1', '1e3', '1.00001', '10000', '5 %', '.5', 'x'])('refuses the markup %j', (text) => {
  expect(parseMarkup(text)).toBeUndefined();
});

it('raises every price of a table, rounded up to 6 decimals, but no prompt length', () => {
  const prices = { input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 10 };
  const raised = { input: 1.15, cached_input: 0.115, cache_write: 1.4375, cache_write_1h: 2.3, output: 11.5 };
  const tier = (of: typeof prices) => ({ ...of, above: [{ input_tokens: 272_000, ...of }] });
  const day = (of: typeof prices) => ({ ...tier(of), service_tiers: { flex: tier(of) } });
  const hours = (of: typeof prices) => [{ utc: '00:00-01:00', days: ['mon'], except: ['2026-12-25'], ...tier(of) }];
  const period = (of: typeof prices) => ({ ...day(of), hours: hours(of) });
  const table = (of: typeof prices) => ({ ...period(of), from: { '2026-12-01': period(of) } });
  expect(markedUp(table(prices), 150_000n)).toEqual(table(raised));
  expect(markedUp({ input: 0.000001, output: 0 }, 1n)).toEqual({ input: 0.000002, output: 0 });
  expect(markedUp({ input: 999_999.999999, output: 0.3 }, 0n)).toEqual({ input: 999_999.999999, output: 0.3 });
});
