import { describe, expect, it } from 'vitest';
import type { LedgerEntryView } from '#contract/money.ts';
import { entryTitle, signedAmount } from './ledger-entry.ts';

const entry = (kind: LedgerEntryView['kind'], amountNanoUsd: string): LedgerEntryView => ({
  sequence: 1,
  atMs: 0,
  kind,
  amountNanoUsd,
  balanceNanoUsd: '0',
});

describe('an entry of the ledger', () => {
  it('has a title', () => {
    expect(entryTitle(entry('charge', '-5'))).toBe('Charge');
    expect(entryTitle(entry('charge', '0'))).toBe('Charge');
    expect(entryTitle(entry('credit', '5'))).toBe('Credit');
    expect(entryTitle(entry('credit', '-5'))).toBe('Correction');
  });

  it('shows its amount with sign and every digit', () => {
    expect(signedAmount('25000000000')).toBe('+$25.00');
    expect(signedAmount('-325001')).toBe('−$0.000325001');
    expect(signedAmount('0')).toBe('$0.00');
  });
});
