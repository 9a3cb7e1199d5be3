import type { LedgerEntryView } from '../../../contract/money.ts';
import { formatMoneyInFull } from '../../format/format-money.ts';

/** What an entry of the ledger is, in a word. A credit that takes away corrects another. */
export function entryTitle({ kind, amountNanoUsd }: LedgerEntryView): 'Charge' | 'Credit' | 'Correction' {
  if (kind === 'charge') return 'Charge';
  return BigInt(amountNanoUsd) < 0n ? 'Correction' : 'Credit';
}

/** `+$25.00` and `−$0.000325001`: with its sign, because both stand in one column, and every digit, so that each line leads to the next. */
export function signedAmount(amountNanoUsd: string): string {
  const text = formatMoneyInFull(amountNanoUsd);
  return BigInt(amountNanoUsd) > 0n ? `+${text}` : text;
}
