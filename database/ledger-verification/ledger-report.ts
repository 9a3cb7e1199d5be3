import type { Checkpoint } from '../checkpoints/checkpoints.ts';

/** Result of `ledger verify`. */
export interface LedgerReport {
  readonly organizations: number;
  /** Number of entries that were read. With a checkpoint, only those after it. */
  readonly entries: number;
  readonly generations: number;
  /** Number of refused charges on which an operator has to decide (table dead_letters). */
  readonly deadLetters: number;
  /** Charges that wait for long, from the latest reports of their processes. */
  readonly waitingCharges: number;
  /** At most 100 differences for each rule. Empty: everything agrees. */
  readonly differences: readonly LedgerDifference[];
}

export interface LedgerDifference {
  readonly rule: string;
  /** The organization, generation, key or day with the difference. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** Verified earlier: up to the newest checkpoints, of those before a moment or of exported ones. */
export type VerifiedBefore =
  | { readonly kind: 'moment'; readonly ms: number }
  | { readonly kind: 'exported'; readonly checkpoints: readonly Checkpoint[] };

export interface VerifyOptions {
  /** Absent: verifies everything. */
  readonly before?: VerifiedBefore;
  /** Raw public keys that may sign checkpoints. Absent: any that the checkpoints contain. */
  readonly trusted?: readonly Buffer[];
}

export function isVerified({ deadLetters, waitingCharges, differences }: LedgerReport): boolean {
  return deadLetters === 0 && waitingCharges === 0 && differences.length === 0;
}
