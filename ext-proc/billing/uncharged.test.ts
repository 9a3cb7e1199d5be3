import { expect, test } from 'vitest';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import type { UnchargedAttempt } from '../hold/attempt.ts';
import type { HoldTerms } from './open-hold.ts';
import { settlement } from './settlement.fixture.ts';
import { providerAttempt, unchargedSettlement } from './uncharged.ts';

const terms: HoldTerms = {
  generationId: 'gen-1',
  organizationId: 'org-1',
  keyId: 'key-1',
  day: 20_778,
  model: 'public-model',
  priceTable: flatTable({ ...NO_PRICES, inputPicoUsd: 1_000_000n, outputPicoUsd: 10_000_000n }),
  streamed: false,
  createdAtMs: 1,
  mostOutputTokens: 100,
  holdNanoUsd: 1_000_000n,
  totalTimeoutMs: 60_000,
};
const usage = {
  promptTokens: 100,
  completionTokens: 10,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
};
const facts = { attempt: 2, provider: 'alpha', providerModel: 'alpha-model', askedAtMs: 5 };

function recordOf(result: string, more: Partial<UnchargedAttempt> = {}, holdNanoUsd = terms.holdNanoUsd) {
  const tokens = { usage, source: 'counted' } as const;
  return providerAttempt({ ...terms, holdNanoUsd }, { ...facts, result, work: 'some', tokens, ...more });
}

test('the record of an attempt has the known facts of the request, and only its columns', () => {
  expect(recordOf('reset', { upstreamId: 'up-1' })).toEqual({
    ...facts,
    generationId: 'gen-1',
    organizationId: 'org-1',
    keyId: 'key-1',
    model: 'public-model',
    upstreamId: 'up-1',
    result: 'reset',
    reason: 'broken',
    tokens: { usage, source: 'counted' },
  });
});

test.each([
  ['first_byte_timeout', 'timeout', false],
  ['total_timeout', 'timeout', true],
  ['too_large', 'response_too_large', true],
  ['no_room', 'no_room', true],
  ['process_ends', 'process_ends', false],
  ['malformed', 'broken', false],
  ['ok', 'not_charged', false],
])('%s is uncharged because of %s, and a loss: %s', (result, reason, isLoss) => {
  const { loss, ...record } = recordOf(result);
  expect(record).toMatchObject({ result, reason });
  expect(loss).toEqual(isLoss ? { reason, amountNanoUsd: 200_000n } : undefined);
});

test('a loss is at most the hold', () => {
  expect(recordOf('total_timeout', {}, 5n).loss?.amountNanoUsd).toBe(5n);
});

test('an attempt that was not sent, or was refused, has that reason whatever its result, and no loss', () => {
  const record = providerAttempt(terms, { ...facts, result: 'total_timeout', work: 'none' });
  expect(record).toMatchObject({ reason: 'not_sent' });
  expect(record).not.toHaveProperty('loss');
  expect(recordOf('status_500', { work: 'refused' })).toMatchObject({ reason: 'provider_error' });
});

test('a client that left has its own result', () => {
  expect(recordOf('abandoned')).toMatchObject({ result: 'client_left', reason: 'client_left' });
});

test('a refused charge from the log has no number, and the usage that its provider reported', () => {
  expect(unchargedSettlement({ ...settlement, upstreamId: 'up-1' })).toMatchObject({
    ...{ generationId: settlement.generationId, attempt: 0, result: 'ok', reason: 'not_charged', upstreamId: 'up-1' },
    providerModel: settlement.providerModel,
    tokens: { usage: settlement.usage, source: 'reported' },
  });
});

const costTable = {
  ...flatTable({ ...NO_PRICES, inputPicoUsd: 500_000n, outputPicoUsd: 5_000_000n }),
  above: [{ inputTokens: 99, prices: { ...NO_PRICES, inputPicoUsd: 700_000n } }],
};

test('an attempt costs what the table of its target says, however small the hold is', () => {
  // 100 x 0.7 micro-dollars; the price is 100 x 1 + 10 x 10.
  expect(recordOf('too_large', { costTable }, 40n)).toMatchObject({
    costNanoUsd: 70_000n,
    loss: { amountNanoUsd: 40n },
  });
  expect(recordOf('reset')).not.toHaveProperty('costNanoUsd');
});

test('an attempt without work costs nothing that is known', () => {
  const { tokens: _, ...without } = { ...facts, result: 'refused', work: 'refused' } as UnchargedAttempt;
  expect(providerAttempt(terms, { ...without, costTable })).not.toHaveProperty('costNanoUsd');
});

test('a delivered charge that is refused keeps the cost of its attempt', () => {
  expect(unchargedSettlement({ ...settlement, providerCostNanoUsd: 7n })).toMatchObject({ costNanoUsd: 7n });
  expect(unchargedSettlement(settlement)).not.toHaveProperty('costNanoUsd');
});
