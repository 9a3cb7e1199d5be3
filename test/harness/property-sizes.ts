/**
 * Setup file of the projects whose test files share a process. By default fast-check draws at most
 * some ten elements, whatever `maxLength` a test gives. Here values are as long as `maxLength`
 * allows, and CI draws three times as many of them.
 */
import fc from 'fast-check';

fc.configureGlobal({
  defaultSizeToMaxWhenMaxSpecified: true,
  ...(process.env.CI === 'true' ? { numRuns: 300 } : {}),
});
