import { formatMoneyInFull } from '../../format/format-money.ts';

export interface CreditDraft {
  readonly amountNanoUsd: string;
  readonly note: string;
  readonly reference: string;
}

/** Empty boxes are left out: the server takes no empty text. */
export function creditBody({ amountNanoUsd, note, reference }: CreditDraft) {
  return {
    amountNanoUsd,
    ...(note.trim() !== '' && { note: note.trim() }),
    ...(reference.trim() !== '' && { reference: reference.trim() }),
  };
}

export function balanceAfter(balanceNanoUsd: string, amountNanoUsd: string): string {
  return (BigInt(balanceNanoUsd) + BigInt(amountNanoUsd)).toString();
}

/** Says what will be booked, so that a wrong sign or zero too many is seen before. */
export function creditButton(amountNanoUsd: string | undefined): string {
  if (amountNanoUsd === undefined) return 'Add credit';
  return amountNanoUsd.startsWith('-')
    ? `Take ${formatMoneyInFull(amountNanoUsd.slice(1))} back`
    : `Add ${formatMoneyInFull(amountNanoUsd)}`;
}
