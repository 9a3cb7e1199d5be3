import { formatMoneyInFull } from '../format/format-money.ts';

export interface CreditDraft {
  readonly amountNanoUsd: string;
  readonly note: string;
  readonly reference: string;
}

/**
 * Each dialog begins with one: when an answer is lost, the same dialog may be sent again and is booked once. Made without randomUUID(), which
 * browsers have on secure pages only.
 */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `crd-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
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
