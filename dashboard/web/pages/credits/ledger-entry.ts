import type { LedgerEntryView } from '#contract/money.ts';
import { formatMoneyInFull } from '../../format/format.ts';

/** The kind of a ledger entry. A negative credit is a correction. */
export function entryTitle({ kind, amountNanoUsd }: LedgerEntryView): 'Charge' | 'Credit' | 'Correction' {
  if (kind === 'charge') return 'Charge';
  return BigInt(amountNanoUsd) < 0n ? 'Correction' : 'Credit';
}

/** `−$0.000325001`: signed, as credits share the column; exact, so that the balances add up. */
export function signedAmount(amountNanoUsd: string): string {
  const text = formatMoneyInFull(amountNanoUsd);
  return BigInt(amountNanoUsd) > 0n ? `+${text}` : text;
}
