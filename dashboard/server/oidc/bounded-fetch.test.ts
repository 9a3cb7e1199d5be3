import { expect, test } from 'vitest';
import { isEndpoint } from './bounded-fetch.ts';

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
