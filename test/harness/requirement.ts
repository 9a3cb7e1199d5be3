import { test } from 'vitest';

/**
 * Runs the tests when this machine has what they need. Otherwise one skipped test says what is
 * missing; with CI=true it fails instead, because there nothing may be missing.
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
