import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { configPath, runtimePaths } from './runtime-paths.ts';

test.each([[{}], [{ GATEWAY_CONFIG: '', GATEWAY_DATA: '' }]])('%j has the default configuration and folder', (env) => {
  expect(configPath(env)).toBe('config/gateway.yaml');
  expect(runtimePaths(env).dataDir).toBe(resolve('.data'));
});
