import { describe, expect, it } from 'vitest';
import type { OrganizationView } from '#contract/organization.ts';
import { availableNanoUsd, balanceWarning } from './balance-warning.ts';

function organization(change: Partial<OrganizationView>): OrganizationView {
  return {
    id: 'org-1',
    name: 'Example',
    createdAtMs: 0,
    balanceNanoUsd: '100',
    heldNanoUsd: '0',
    totalCreditsNanoUsd: '100',
    totalUsageNanoUsd: '0',
    spentTodayNanoUsd: '0',
    forecast: { averageDayNanoUsd: '100', endsAtMs: 1 },
    limits: { concurrency: 64, allowMultipleCompletions: false },
    ...change,
  };
}

describe('the available amount', () => {
  it('is the balance less holds, and may be below zero', () => {
    expect(availableNanoUsd(organization({ balanceNanoUsd: '100', heldNanoUsd: '30' }))).toBe(70n);
    expect(availableNanoUsd(organization({ balanceNanoUsd: '-5', heldNanoUsd: '1' }))).toBe(-6n);
  });
});

describe('the warning about the balance', () => {
  it('is absent while the balance lasts for a day of average use', () => {
    expect(balanceWarning(organization({}))).toBeUndefined();
    const { forecast: _, ...unknown } = organization({ balanceNanoUsd: '1' });
    expect(balanceWarning(unknown)).toBeUndefined();
  });

  it('says how long the rest lasts below that', () => {
    expect(balanceWarning(organization({ balanceNanoUsd: '99' }))).toEqual({
      kind: 'low',
      averageDayNanoUsd: '100',
      hours: 23,
    });
    expect(balanceWarning(organization({ balanceNanoUsd: '1' }))).toMatchObject({ hours: 1 });
  });

  it('counts holds as spent', () => {
    expect(balanceWarning(organization({ heldNanoUsd: '50' }))).toMatchObject({ kind: 'low', hours: 12 });
    expect(balanceWarning(organization({ heldNanoUsd: '100' }))).toEqual({ kind: 'empty' });
  });

  it('is about an empty balance whatever was spent', () => {
    expect(balanceWarning(organization({ balanceNanoUsd: '0' }))).toEqual({ kind: 'empty' });
    expect(balanceWarning(organization({ balanceNanoUsd: '-1' }))).toEqual({ kind: 'empty' });
  });

  it('is about a suspension before anything else', () => {
    expect(balanceWarning(organization({ balanceNanoUsd: '0', suspendedAtMs: 5 }))).toEqual({
      kind: 'suspended',
      sinceMs: 5,
    });
  });
});
