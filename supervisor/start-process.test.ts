import { afterEach, expect, test, vi } from 'vitest';
import { beginStart, type StartProcess } from './start-process.ts';

let start: StartProcess | undefined;
afterEach(() => {
  vi.unstubAllEnvs();
  start?.end();
});

test('the settings are plain data with the paths of the data folder', async () => {
  vi.stubEnv('GATEWAY_DATA', '/tmp/data-of-start');
  start = beginStart();
  const settings = await start.settings();
  if (typeof settings === 'string') throw new Error(settings);
  expect(settings).toMatchObject({ workers: 1, postgres: { kind: 'embedded' } });
  expect(settings.listeners[0]).toEqual({ setting: 'listen.api', address: { host: '0.0.0.0', port: 8080 } });
  expect(settings.paths.extProcSocket(0)).toContain('/tmp/data-of-start');
});

test('a refused configuration is returned as a message', async () => {
  vi.stubEnv('GATEWAY_CONFIG', '/nowhere/gateway.yaml');
  start = beginStart();
  expect(await start.settings()).toContain('/nowhere/gateway.yaml');
});

test('a start process that ends too early is a problem', async () => {
  start = beginStart();
  start.end();
  expect(await start.settings()).toBe('The process of the start ended with exit code 0.');
  expect(await start.announce('postgres://nowhere')).toBe('The process of the start ended with exit code 0.');
});
