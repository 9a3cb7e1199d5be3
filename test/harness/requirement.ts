import { test } from 'vitest';

/**
 * Defines the tests if this machine has what they need. Otherwise one skipped test names what is
 * missing. With `CI=true` that test fails, because CI must run everything.
 */
export function requirement(missing: string | undefined, tests: () => void): void {
  if (missing === undefined) {
    tests();
    return;
  }
  test(`needs: ${missing}`, (context) => {
    if (process.env.CI === 'true') throw new Error(missing);
    context.skip(missing);
  });
}
