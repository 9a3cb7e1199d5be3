import type { NanoUsd } from '../../../core/money.ts';

/**
 * Lua's numbers are doubles: integers are exact to 2^53, which is 9,007,199 USD in nano-dollars.
 * Amounts beyond that are clamped here, each to the side that admits less; between here and the
 * answer nothing rounds in favour of anybody. Proof, for L = 2^53 - 1:
 * - what is available (balances) is lowered to L, budgets too; what is taken (holds, spend) is
 *   raised to L + 1 at most;
 * - balance: every hold that was admitted fitted into a balance of at most L, so the sum of holds
 *   is an exact integer, and a hold of L + 1 is never admitted. `balance - held` is exact, or it is
 *   below -2^53 and its sign, which is all that counts then, is right;
 * - budget: `spent + held + hold` adds what is not negative, so it is exact while it is at most L,
 *   and more than L, so refused, once it is not.
 */
const LARGEST_EXACT = 2n ** 53n - 1n;
const BEYOND = LARGEST_EXACT + 1n;

/** A balance or a budget: less is on the safe side. */
export function availableAmount(nanoUsd: NanoUsd): string {
  if (nanoUsd > LARGEST_EXACT) return LARGEST_EXACT.toString();
  return (nanoUsd < -BEYOND ? -BEYOND : nanoUsd).toString();
}

/** A hold or what was spent: more is on the safe side. */
export function takenAmount(nanoUsd: NanoUsd): string {
  return (nanoUsd > BEYOND ? BEYOND : nanoUsd).toString();
}
