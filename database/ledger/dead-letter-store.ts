import type { NanoUsd } from '#core/money.ts';

/** A dead letter that waits for an operator's decision. */
export interface DeadLetter {
  readonly generationId: string;
  readonly organizationId: string;
  readonly reason: string;
  /** True if the client received the response, or may have. */
  readonly delivered: boolean;
  /** Amount to charge, at most the hold. `undefined`: the stored text is no settlement. */
  readonly dueNanoUsd?: NanoUsd;
  readonly model?: string;
  readonly createdAtMs: number;
}

export type Resolution = 'charged' | 'forgiven';

export type ResolvedLetter =
  | { readonly kind: 'resolved'; readonly resolution: Resolution; readonly amountNanoUsd: NanoUsd }
  | { readonly kind: 'resolved_before'; readonly resolution: Resolution; readonly resolvedAtMs: number }
  /** The ledger still refuses the charge, or the stored text is not a settlement. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' };
