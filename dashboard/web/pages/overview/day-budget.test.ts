import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayBudget, nextResetMs } from './day-budget.ts';

describe('the budget of a day', () => {
  it('shows what is left', () => {
    expect(dayBudget('25', '100')).toMatchObject({ leftNanoUsd: '75', fraction: 0.25 });
    expect(dayBudget('80', '100')).toMatchObject({ leftNanoUsd: '20', fraction: 0.8 });
    expect(dayBudget('100', '100')).toMatchObject({ leftNanoUsd: '0', fraction: 1 });
  });

  it('is used up if it is zero, or was lowered below the spend', () => {
    expect(dayBudget('0', '0')).toMatchObject({ fraction: 1 });
    expect(dayBudget('300', '100')).toMatchObject({ leftNanoUsd: '0', fraction: 1 });
  });

  it('never exceeds the bar', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 18n });
    fc.assert(
      fc.property(amount, amount, (spent, budget) => {
        const { fraction } = dayBudget(spent.toString(), budget.toString());
        expect(fraction).toBeGreaterThanOrEqual(0);
        expect(fraction).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('resets at the next midnight UTC', () => {
    expect(nextResetMs(Date.UTC(2026, 10, 21, 10, 30))).toBe(Date.UTC(2026, 10, 22));
    expect(nextResetMs(Date.UTC(2026, 10, 22))).toBe(Date.UTC(2026, 10, 23));
    expect(nextResetMs(Date.UTC(2026, 11, 31, 23, 59, 59, 999))).toBe(Date.UTC(2027, 0, 1));
  });
});
