/**
 * Setup file of the projects whose test files share a process. By default fast-check draws at most
 * some ten elements, whatever `maxLength` a test gives. Here values are as long as `maxLength`
 * allows. CI draws 300 of them, ten times as many as `npm test`.
 */
import fc from 'fast-check';

fc.configureGlobal({
  defaultSizeToMaxWhenMaxSpecified: true,
  numRuns: process.env.CI === 'true' ? 300 : 30,
});
