import { expect, test } from 'vitest';
import { configWith } from '#test/fixtures/gateway-config.ts';
import { envoyEnvironment, envoyThreads } from './envoy-child.ts';

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

test('Envoy gets the AWS variables of the environment, and no key of a provider', () => {
  const env = { PATH: '/bin', AWS_ACCESS_KEY_ID: 'a', AWS_ROLE_ARN: 'b', OPENAI_API_KEY: 'c', DATABASE_URL: 'd' };
  expect(envoyEnvironment(env)).toEqual({ PATH: '/bin', AWS_ACCESS_KEY_ID: 'a', AWS_ROLE_ARN: 'b' });
});
