import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Provider } from '#core/config/gateway-config.ts';
import { EnvoyTokens } from './envoy-tokens.ts';
import { clusterOf } from './provider-cluster.ts';

/** Reasons why Envoy has no token, as its statistics count them. */

const PROVIDER: Provider = {
  ...{ name: 'p', api: 'chat', baseUrl: new URL('http://127.0.0.1:9'), outputLimitField: 'max_tokens' },
  auth: { kind: 'oauth2', tokenUrl: new URL('http://127.0.0.1:9'), scopes: [] },
};
const CLUSTER = clusterOf(PROVIDER);
const socket = join(tmpdir(), `gw-tokens-${process.pid}.sock`);
let admin: Server;
let asked: string[];
let stats: Readonly<Record<string, number>>;

beforeEach(async () => {
  asked = [];
  stats = {};
  admin = createServer((request, response) => {
    asked.push(String(request.url));
    response.end(
      Object.entries(stats)
        .map(([name, value]) => `cluster.${name}: ${value}\n`)
        .join(''),
    );
  });
  await new Promise<void>((resolve) => admin.listen(socket, resolve));
});
afterEach(async () => {
  admin.closeAllConnections();
  await new Promise((resolve) => admin.close(resolve));
  await rm(socket, { force: true });
});

const own = (name: string) => `${CLUSTER}credential_injector.oauth2.${name}`;
const counts = (fetched: number, failed: number, refused: number) => ({
  [own('token_fetched')]: fetched,
  [own('token_fetch_failed_on_client_secret')]: 1,
  [own('token_fetch_failed_on_bad_response_code')]: failed,
  [`${CLUSTER}-token.upstream_rq_401`]: refused,
});

test('the first attempt is awaited; one before the secret was read does not count', async () => {
  const tokens = new EnvoyTokens(socket);
  stats = counts(0, 0, 0);
  expect(await tokens.isSettled(PROVIDER)).toBe(false);
  expect(await tokens.whyNone(PROVIDER)).toBe('pending');
  stats = counts(1, 0, 0);
  expect(await tokens.isSettled(PROVIDER)).toBe(true);
  const looks = asked.length;
  expect(await tokens.isSettled(PROVIDER)).toBe(true);
  expect(asked).toHaveLength(looks);
});

test('the newest attempt tells whether the endpoint refuses or is unavailable', async () => {
  const tokens = new EnvoyTokens(socket);
  const reasons = [];
  for (const [failed, refused] of [
    [1, 1],
    [1, 1],
    [2, 1],
    [2, 1],
    [3, 2],
  ] as const) {
    stats = counts(0, failed, refused);
    reasons.push(await tokens.whyNone(PROVIDER));
  }
  expect(reasons).toEqual(['refused', 'refused', 'unavailable', 'unavailable', 'refused']);
});

test('a restarted Envoy is awaited again', async () => {
  const tokens = new EnvoyTokens(socket);
  stats = counts(3, 1, 0);
  expect(await tokens.isSettled(PROVIDER)).toBe(true);
  stats = counts(0, 0, 0);
  expect(await tokens.whyNone(PROVIDER)).toBe('pending');
  expect(await tokens.isSettled(PROVIDER)).toBe(false);
});

test('concurrent requests share one query, and without Envoy nothing is awaited', async () => {
  const tokens = new EnvoyTokens(socket);
  stats = counts(0, 0, 0);
  await Promise.all([tokens.isSettled(PROVIDER), tokens.isSettled(PROVIDER), tokens.whyNone(PROVIDER)]);
  expect(asked).toHaveLength(1);
  const away = new EnvoyTokens(`${socket}.absent`);
  expect(await away.isSettled(PROVIDER)).toBe(true);
  expect(await away.whyNone(PROVIDER)).toBe('unavailable');
});
