import { expect, it } from 'vitest';
import { balanceAfter, creditBody, creditButton, newReference } from './credit-draft.ts';

it('says what the balance will be, exactly', () => {
  expect(balanceAfter('9007199254740993', '1')).toBe('9007199254740994');
  expect(balanceAfter('5', '-7')).toBe('-2');
});

it('says on its button what will be booked', () => {
  expect(creditButton(undefined)).toBe('Add credit');
  expect(creditButton('12500000000')).toBe('Add $12.50');
  expect(creditButton('-1')).toBe('Take $0.000000001 back');
});

it('makes references that no other dialog has', () => {
  const made = Array.from({ length: 100 }, newReference);
  expect(new Set(made).size).toBe(100);
  for (const reference of made) expect(reference).toMatch(/^crd-[0-9a-f]{32}$/);
});

it('leaves empty boxes out', () => {
  expect(creditBody({ amountNanoUsd: '1', note: '  ', reference: '' })).toEqual({ amountNanoUsd: '1' });
  expect(creditBody({ amountNanoUsd: '1', note: ' paid ', reference: 'inv-1' })).toEqual({
    amountNanoUsd: '1',
    note: 'paid',
    reference: 'inv-1',
  });
});
