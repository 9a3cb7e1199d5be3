import type { NanoUsd } from '../../core/money.ts';

/** A charge that the ledger refused, about which nobody has decided yet. */
export interface DeadLetter {
  readonly generationId: string;
  readonly organizationId: string;
  readonly reason: string;
  /**
   * The client was given the answer, or may have been. `undefined`: of a release that did not tell.
   */
  readonly delivered?: boolean;
  /** At most what was held for it. `undefined`: what was kept of it is no charge. */
  readonly dueNanoUsd?: NanoUsd;
  readonly model?: string;
  readonly createdAtMs: number;
}

export type Resolution = 'charged' | 'forgiven';

/** Outcome of a dead letter. */
export type ResolvedLetter =
  | { readonly kind: 'resolved'; readonly resolution: Resolution; readonly amountNanoUsd: NanoUsd }
  | { readonly kind: 'resolved_before'; readonly resolution: Resolution; readonly resolvedAtMs: number }
  /** The ledger refuses it still, or what was kept of it is no charge. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' };
