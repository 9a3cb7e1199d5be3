import { expect, test } from 'vitest';
import { configWith } from '../test/fixtures/gateway-config.ts';
import { envoyThreads } from './envoy-child.ts';

const TLS = { certificatePath: 'a', privateKeyPath: 'b' };

test.each([
  { workers: 1, tls: false, cores: 8, threads: 1 },
  { workers: 3, tls: false, cores: 8, threads: 3 },
  { workers: 1, tls: true, cores: 8, threads: 2 },
  { workers: 4, tls: true, cores: 2, threads: 2 },
  { workers: 1, tls: true, cores: 1, threads: 1 },
])('$workers gateway processes on $cores cores, TLS $tls: $threads', ({ workers, tls, cores, threads }) => {
  const listen = { ...configWith().listen, ...(tls ? { tls: TLS } : {}) };
  expect(envoyThreads({ workers, listen }, cores)).toBe(threads);
});
