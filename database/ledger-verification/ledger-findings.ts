import type { LedgerDifference } from './ledger-report.ts';

const MAX_DIFFERENCES = 100;

/** Collects the differences of a verification, and counts what was read. */
export class LedgerFindings {
  readonly #byRule = new Map<string, LedgerDifference[]>();
  organizations = 0;
  entries = 0;
  generations = 0;

  add(rule: string, subject: string, expected: string, found: string): void {
    const those = this.#byRule.get(rule) ?? [];
    this.#byRule.set(rule, those);
    if (those.length < MAX_DIFFERENCES) those.push({ rule, subject, expected, found });
  }

  addAll(rule: string, found: readonly Omit<LedgerDifference, 'rule'>[]): void {
    for (const one of found) this.add(rule, one.subject, one.expected, one.found);
  }

  differences(): readonly LedgerDifference[] {
    return [...this.#byRule.values()].flat();
  }
}
