import dns from 'node:dns/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { boundedFetch, isEndpoint } from './bounded-fetch.ts';

const ISSUER = new URL('https://login.example.com/realm');

test.each([
  'https://login.example.com:8443/token',
  'https://oauth2.example.com/token',
  'https://oauth2.example.com./token',
])('%s may be called', (url) => {
  expect(isEndpoint(ISSUER, new URL(url))).toBe(true);
});

test.each([
  'http://login.example.com/token',
  'http://oauth2.example.com/token',
  'https://oauth2.example.com:6379/token',
  'https://user@oauth2.example.com/token',
  'https://127.0.0.1/token',
  'https://2130706433/token',
  'https://0x7f.1/token',
  'https://127.0.0.1./token',
  'https://[::ffff:127.0.0.1]/token',
  'https://redis/token',
  'https://redis./token',
  'https://localhost./token',
  'https://app.localhost/token',
  'https://gateway.production.svc/token',
  'https://gateway.production.svc.cluster.local./token',
  'https://metadata.google.internal/token',
  'https://METADATA.google.internal./token',
  'https://router.home.arpa/token',
  'https://nas.lan/token',
])('%s is not called', (url) => {
  expect(isEndpoint(ISSUER, new URL(url))).toBe(false);
});

test('requests that are aborted leave two lookups at a silent name server', async () => {
  const silent: ((reason: Error) => void)[] = [];
  const lookup = () => new Promise((_, reject) => silent.push(reject));
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const ask = boundedFetch(ISSUER);
  const options = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const;
  const sent = Array.from({ length: 28 }, () =>
    ask('https://silent.example.com/token', { ...options, signal: AbortSignal.timeout(50) }),
  );
  const ends = await Promise.allSettled(sent);
  expect(ends.map((end) => end.status === 'rejected' && end.reason.name)).toEqual(Array(28).fill('TimeoutError'));
  for (const reject of silent) reject(new Error('none'));
  await Promise.resolve();
  expect(silent).toHaveLength(2);
});
