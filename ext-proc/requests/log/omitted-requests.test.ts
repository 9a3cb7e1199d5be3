import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { OmittedRequests } from '#database/request-log/request-log-row.ts';
import { rowWith } from '#test/fixtures/request-log-row.ts';
import { OmittedCounts } from './omitted-requests.ts';

const MINUTE = 30_000_000;
const NOW_MS = MINUTE * MINUTE_MS;
const refused = (code: string, more = {}) =>
  rowWith({ status: 401, code, model: undefined, modelKnown: false, ...more });

function counting(write: (counts: readonly OmittedRequests[]) => Promise<void> = async () => undefined) {
  const written: (readonly OmittedRequests[])[] = [];
  const dropped = { requests: 0 };
  const counts = new OmittedCounts({
    write(batch) {
      written.push(batch);
      return write(batch);
    },
    log: pino({ level: 'silent' }),
    onDropped: (requests) => {
      dropped.requests += requests;
    },
    everyMs: 5,
  });
  return { counts, written, dropped };
}

describe('omitted requests', () => {
  test('are sums by key, code, status, model and minute', async () => {
    const { counts, written } = counting();
    for (let i = 0; i < 3; i++) counts.add(refused('key_revoked', { address: `192.0.2.${i}` }), NOW_MS);
    counts.add(refused('key_revoked'), NOW_MS + MINUTE_MS);
    counts.add(refused('key_revoked', { keyId: 'key-2' }), NOW_MS);
    counts.add(refused('model_not_allowed', { model: 'known', modelKnown: true }), NOW_MS);
    counts.add(refused('model_not_found', { model: 'made up' }), NOW_MS);
    await counts.close(10_000);
    expect(written).toHaveLength(1);
    expect(
      written[0]?.map(({ keyId, minute, model, code, requests }) => [keyId, minute - MINUTE, model, code, requests]),
    ).toEqual([
      ['key-1', 0, '', 'key_revoked', 3],
      ['key-1', 1, '', 'key_revoked', 1],
      ['key-2', 0, '', 'key_revoked', 1],
      ['key-1', 0, 'known', 'model_not_allowed', 1],
      ['key-1', 0, '', 'model_not_found', 1],
    ]);
    expect(written[0]?.[0]?.address).toBe('192.0.2.2');
  });

  test('are written again as growing sums, but not if nothing was added', async () => {
    const { counts, written } = counting();
    const now = Date.now();
    counts.add(refused('key_revoked'), now);
    await expect.poll(() => written.length).toBe(1);
    await sleep(30);
    expect(written).toHaveLength(1);
    counts.add(refused('key_revoked'), now);
    await expect.poll(() => written.length).toBe(2);
    await counts.close(10_000);
    expect(written.map((batch) => batch[0]?.requests)).toEqual([1, 2]);
  });

  test('wait while the store is unavailable', async () => {
    let isAway = true;
    const { counts, written } = counting(async () => {
      if (isAway) throw new StoreUnavailable('away');
    });
    const now = Date.now();
    counts.add(refused('key_revoked'), now);
    await expect.poll(() => written.length).toBeGreaterThan(2);
    isAway = false;
    counts.add(refused('key_revoked'), now);
    await counts.close(10_000);
    expect(written.at(-1)?.[0]?.requests).toBe(2);
  });

  test('that are not written when the time to stop is over are reported as dropped', async () => {
    const { counts, written, dropped } = counting(async (batch) => {
      if (batch[0]?.requests !== 1) throw new StoreUnavailable('away');
    });
    const now = Date.now();
    counts.add(refused('key_revoked'), now);
    await expect.poll(() => written.length).toBe(1);
    for (let i = 0; i < 3; i++) counts.add(refused('key_revoked'), now);
    counts.add(refused('model_not_found'), now);
    await counts.close(50);
    expect(dropped.requests).toBe(4);
  });

  test('are bounded by kind, and the rest is reported as dropped', async () => {
    const { counts, written, dropped } = counting();
    for (let i = 0; i < 10_003; i++) counts.add(refused('key_revoked', { keyId: `key-${i}` }), NOW_MS);
    counts.add(refused('key_revoked', { keyId: 'key-0' }), NOW_MS);
    await counts.close(10_000);
    expect(dropped.requests).toBe(3);
    expect(written.every((batch) => batch.length <= 500)).toBe(true);
    expect(written.flat().reduce((sum, { requests }) => sum + requests, 0)).toBe(10_001);
  });
});
