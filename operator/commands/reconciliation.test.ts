import { expect, test } from 'vitest';
import type { ProviderUsageRow } from '#database/costs/costs.ts';
import type { BilledUsage } from './provider-bill.ts';
import { reconcile } from './reconciliation.ts';

const DAY = Date.parse('2026-11-21') / 86_400_000;
const billed = (more: Partial<BilledUsage> = {}): BilledUsage => ({
  ...{ day: DAY, model: 'm', input_tokens: 1000, cached_tokens: 100, output_tokens: 500 },
  ...more,
});
const used = (more: Partial<ProviderUsageRow> = {}): ProviderUsageRow => ({
  ...{
    day: DAY,
    model: 'm',
    source: 'reported',
    calls: 1,
    promptTokens: 1000,
    cachedTokens: 100,
    completionTokens: 500,
  },
  ...more,
});

test('counts within 1 % of the provider agree', () => {
  for (const input_tokens of [990, 991, 1000, 1010]) {
    expect(reconcile([billed({ input_tokens })], [used()]).differences.length).toBe(input_tokens === 990 ? 1 : 0);
  }
  expect(reconcile([billed({ cached_tokens: 0 })], [used({ cachedTokens: 1 })]).differences).toHaveLength(1);
  expect(reconcile([billed()], [used()])).toEqual({ compared: 1, differences: [], uncharged: {} });
});

test('adds up several lines, and charged and uncharged calls', () => {
  const half = { input_tokens: 500, cached_tokens: 50, output_tokens: 250 };
  const charged = used({ promptTokens: 600, cachedTokens: 100, completionTokens: 480 });
  const lost = used({
    reason: 'timeout',
    source: 'counted',
    calls: 3,
    promptTokens: 400,
    cachedTokens: 0,
    completionTokens: 20,
  });
  const sum = { calls: 3, input_tokens: 400, cached_tokens: 0, output_tokens: 20 };
  expect(reconcile([billed(half), billed(half)], [charged, lost])).toEqual({
    ...{ compared: 1, differences: [] },
    uncharged: { timeout: sum },
  });
  const { differences } = reconcile([billed({ ...half, model: 'm' })], [charged, lost]);
  expect(differences).toEqual([
    {
      date: '2026-11-21',
      model: 'm',
      differs: ['input_tokens', 'cached_tokens', 'output_tokens'],
      input_tokens: { provider: 500, gateway: 1000, charged: 600, counted: 400 },
      cached_tokens: { provider: 50, gateway: 100, charged: 100, counted: 0 },
      output_tokens: { provider: 250, gateway: 500, charged: 480, counted: 20 },
      uncharged: { timeout: sum },
    },
  ]);
});

test('compares each day and model, even if only one side has it', () => {
  const { compared, differences } = reconcile(
    [billed(), billed({ day: DAY + 1 }), billed({ model: 'n' })],
    [used(), used({ day: DAY + 2 }), used({ model: 'n', promptTokens: 2000 })],
  );
  expect(compared).toBe(4);
  expect(differences.map(({ date, model, differs }) => [date, model, ...differs])).toEqual([
    ['2026-11-21', 'n', 'input_tokens'],
    ['2026-11-22', 'm', 'input_tokens', 'cached_tokens', 'output_tokens'],
    ['2026-11-23', 'm', 'input_tokens', 'cached_tokens', 'output_tokens'],
  ]);
});
