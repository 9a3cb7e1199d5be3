import type { Checkpoint } from '../checkpoints/checkpoints.ts';

/** Result of `ledger verify`. */
export interface LedgerReport {
  readonly organizations: number;
  /** Entries read now: with a checkpoint, those after it. */
  readonly entries: number;
  readonly generations: number;
  /**
   * Charges that the ledger refused, which an operator has to decide about (table dead_letters).
   */
  readonly deadLetters: number;
  /** Charges that wait for long, as their processes reported last. */
  readonly spooledCharges: number;
  /** Differences, at most 100 for each rule. Empty: everything agrees. */
  readonly differences: readonly LedgerDifference[];
}

export interface LedgerDifference {
  readonly rule: string;
  /** Organization, generation, key or day that it is about. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/**
 * Part that is verified already: each organization's newest checkpoint up to a moment, or exported
 * ones.
 */
export type VerifiedBefore =
  | { readonly kind: 'moment'; readonly ms: number }
  | { readonly kind: 'exported'; readonly checkpoints: ReadonlyMap<string, Checkpoint> };

export interface VerifyOptions {
  /** Absent: everything is read. */
  readonly before?: VerifiedBefore;
  /**
   * Raw public keys that checkpoints may be signed with. Absent: any, each named by its
   * checkpoints.
   */
  readonly trusted?: readonly Buffer[];
}

export function isVerified({ deadLetters, spooledCharges, differences }: LedgerReport): boolean {
  return deadLetters === 0 && spooledCharges === 0 && differences.length === 0;
}
