/**
 * Setup file of the projects whose test files share a process: how long and how many the values are
 * that properties draw. By default fast-check draws at most ten elements, whatever `maxLength` a
 * test has. Here a `maxLength` is reached. CI draws three times as many values.
 */
import fc from 'fast-check';

fc.configureGlobal({
  defaultSizeToMaxWhenMaxSpecified: true,
  ...(process.env.CI === 'true' ? { numRuns: 300 } : {}),
});
