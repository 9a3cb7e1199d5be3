import type { LedgerEntryView } from '../../../contract/money.ts';
import { formatMoney, formatMoneyExactly } from '../../format/format-money.ts';

/** What an entry of the ledger is, in a word. A credit that takes away corrects another. */
export function entryTitle({ kind, amountNanoUsd }: LedgerEntryView): 'Charge' | 'Credit' | 'Correction' {
  if (kind === 'charge') return 'Charge';
  return BigInt(amountNanoUsd) < 0n ? 'Correction' : 'Credit';
}

/** `+$25.00` and `−$0.00033`: with its sign, because both stand in one column. */
export function signedAmount(amountNanoUsd: string): string {
  return withSign(amountNanoUsd, formatMoney(amountNanoUsd));
}

/** Every digit of it. */
export function exactAmount(amountNanoUsd: string): string {
  return withSign(amountNanoUsd, formatMoneyExactly(amountNanoUsd));
}

/** Money below zero comes with its sign already. */
function withSign(amountNanoUsd: string, text: string): string {
  return BigInt(amountNanoUsd) > 0n ? `+${text}` : text;
}
