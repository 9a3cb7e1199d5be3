import { expect, it } from 'vitest';
import { withoutGrouping } from './parse-grouped.ts';

it.each([
  ['1,500', '1500'],
  ['$1,234,567.89', '1234567.89'],
  ['−2,500.5', '-2500.5'],
  ['10 000', '10000'],
  ['12.50', '12.50'],
])('reads %s as %s', (text, digits) => {
  expect(withoutGrouping(text)).toBe(digits);
});

it.each(['1,5', '1.500,00', '1,50', '12,3456', '1234,567', '0,000,1'])(
  'leaves the comma of %s, which no number has',
  (text) => {
    expect(withoutGrouping(text)).toContain(',');
  },
);
