import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import type { Key } from '#core/principal.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { client } from '../delivery/client.fixture.ts';
import { gatewayInMemory, KEY } from './gateway-in-memory.fixture.ts';
import { FIRST_MS } from './scheduled-prices.fixture.ts';

const MIDNIGHT_MS = FIRST_MS + DAY_MS;

/** The limit store needs another account after midnight, so the key is read again. */
test.each<[string, Partial<Key>, string | undefined]>([
  ['usable', {}, undefined],
  ['revoked', { revokedAtMs: MIDNIGHT_MS - 1 }, 'key_revoked'],
  ['expired', { expiresAtMs: MIDNIGHT_MS }, 'key_expired'],
])('a key that is %s at the end of its upload', async (_, changes, code) => {
  let nowMs = MIDNIGHT_MS - 2;
  let key: Partial<Key> = {};
  let delivered = 0;
  const gateway = gatewayInMemory({
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    config: () => configWith(modelWith()),
    async deliver() {
      delivered += 1;
      return { status: 200, attempts: [], clientGone: false };
    },
    caller: () => ({ key }),
  });
  onTestFinished(() => gateway.close());
  const { exchange, responses } = client();
  const bytes = Buffer.from(JSON.stringify({ model: 'model-1', messages: [{ role: 'user', content: 'Hello' }] }));
  await gateway.handle({
    ...exchange,
    header: (name) => (name === 'authorization' ? `Bearer ${KEY}` : undefined),
    async readBody() {
      nowMs = MIDNIGHT_MS;
      key = changes;
      return { kind: 'complete', bytes };
    },
  });
  const codes = responses.map(({ body }) => JSON.parse(body.toString()).error.code);
  expect([codes, delivered]).toEqual(code === undefined ? [[], 1] : [[code], 0]);
  expect(await gateway.heldNanoUsd()).toBe(0n);
});
