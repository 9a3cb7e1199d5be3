import { expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { balanceForecast } from './organization-view.ts';

const NOON = 20_000 * DAY_MS + DAY_MS / 2;

function endOf(balance: bigint, week: bigint, { held = 0n, ageDays = 100 } = {}) {
  const sums = { totalCreditsNanoUsd: 0n, totalUsageNanoUsd: 0n, spentTodayNanoUsd: 0n, topsUpItself: false };
  const money = { ...sums, balanceNanoUsd: balance, heldNanoUsd: held, spentWeekNanoUsd: week };
  const forecast = balanceForecast(money, NOON - ageDays * DAY_MS, NOON);
  return forecast && { days: (forecast.endsAtMs - NOON) / DAY_MS, average: forecast.averageDayNanoUsd };
}

it('uses the mean rate of the last six days and a half', () => {
  expect(endOf(1_000n, 650n)).toEqual({ days: 10, average: '100' });
  expect(endOf(1_100n, 650n, { held: 100n })).toEqual({ days: 10, average: '100' });
});

it('counts the days since the organization was created, but at least one', () => {
  expect(endOf(1_000n, 200n, { ageDays: 2 })).toEqual({ days: 10, average: '100' });
  expect(endOf(1_000n, 100n, { ageDays: 0.01 })).toEqual({ days: 10, average: '100' });
});

it('is absent if it would be meaningless', () => {
  expect(endOf(1_000n, 0n)).toBeUndefined();
  expect(endOf(0n, 650n)).toBeUndefined();
  expect(endOf(100n, 650n, { held: 100n })).toBeUndefined();
  expect(endOf(36_500n, 650n)).toMatchObject({ days: 365 });
  expect(endOf(36_600n, 650n)).toBeUndefined();
});
