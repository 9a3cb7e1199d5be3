/**
 * Setup file of the projects whose test files share a process: how long the values are that
 * properties draw. By default fast-check draws at most ten elements, whatever `maxLength` a test
 * has. Here a `maxLength` is reached.
 */
import fc from 'fast-check';

fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });
