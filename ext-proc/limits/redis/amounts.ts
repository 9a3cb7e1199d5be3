import type { NanoUsd } from '#core/money.ts';

/**
 * Lua's numbers are doubles: integers are exact up to 2^53, which is 9,007,199 USD in nano-dollars.
 * Larger amounts are clamped here, each to the side that admits less. With L = 2^53 - 1, balances
 * and budgets are lowered to L, holds and spend to L + 1. Then no rounding admits too much:
 * - Balance: each admitted hold fitted into a balance of at most L. So the sum of holds is exact,
 *   and a hold of L + 1 is never admitted. `balance - held` is exact, or it is below -2^53 and its
 *   sign is right, which is all that the comparison needs.
 * - Monthly and lifetime budget: `budget - spent` is exact, and the rest as for the balance.
 * - Daily budget: `spent + held + hold` adds numbers that are not negative. It is exact up to L,
 *   and otherwise more than L, so the request is refused.
 */
const LARGEST_EXACT = 2n ** 53n - 1n;
const BEYOND = LARGEST_EXACT + 1n;

/** A balance or a budget: clamped downwards. */
export function availableAmount(nanoUsd: NanoUsd): string {
  if (nanoUsd > LARGEST_EXACT) return LARGEST_EXACT.toString();
  return (nanoUsd < -BEYOND ? -BEYOND : nanoUsd).toString();
}

/** A hold or spend: a clamped amount is more than any balance. */
export function takenAmount(nanoUsd: NanoUsd): string {
  return (nanoUsd > BEYOND ? BEYOND : nanoUsd).toString();
}
