import { expect, it } from 'vitest';
import type { Log } from '#core/log/log.ts';
import { watchProxies } from './untrusted-proxies.ts';

function watched(record: () => Promise<void> = async () => {}) {
  const told: string[] = [];
  const recorded: string[] = [];
  const log = { warn: (fields: { proxy?: string }, text: string) => told.push(fields.proxy ?? text) };
  const clock = { monotonicMs: 5_000_000 };
  const proxies = watchProxies(log as unknown as Log, { monotonicMs: () => clock.monotonicMs }, (address) => {
    recorded.push(address);
    return record();
  });
  return { proxies, told, recorded, clock };
}

it('logs an untrusted proxy once a minute, however many requests arrive', () => {
  const { proxies, told, recorded, clock } = watched();
  for (let request = 0; request < 100; request++) proxies.note('10.0.0.5');
  expect([told, recorded]).toEqual([['10.0.0.5'], ['10.0.0.5']]);
  clock.monotonicMs += 59_999;
  proxies.note('10.0.0.6');
  expect(told).toHaveLength(1);
  clock.monotonicMs += 1;
  proxies.note('10.0.0.6');
  expect([told, recorded]).toEqual([
    ['10.0.0.5', '10.0.0.6'],
    ['10.0.0.5', '10.0.0.6'],
  ]);
});

it('reports it for an hour', () => {
  const { proxies, clock } = watched();
  expect(proxies.newest()).toBeUndefined();
  proxies.note('10.0.0.5');
  clock.monotonicMs += 3_599_999;
  expect(proxies.newest()).toBe('10.0.0.5');
  clock.monotonicMs += 1;
  expect(proxies.newest()).toBeUndefined();
});

it('survives an unavailable database', async () => {
  const { proxies, told } = watched(() => Promise.reject(new Error('away')));
  proxies.note('10.0.0.5');
  await new Promise(setImmediate);
  expect(told).toEqual(['10.0.0.5', 'the proxy was not recorded']);
});
