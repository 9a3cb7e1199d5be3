import { describe, expect, it } from 'vitest';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { changeOf, type Draft, draftOf } from '../forms/draft.ts';
import {
  balanceAfter,
  creditBody,
  creditButton,
  NEW_ORGANIZATION,
  newOrganization,
  newReference,
  settingsOf,
} from './organization-drafts.ts';

const LIMITS = { requestsPerMinute: 60, dailyBudgetNanoUsd: '5000', concurrency: 8, allowMultipleCompletions: false };
const SETTINGS = settingsOf({ name: 'Acme', limits: LIMITS });
const BEFORE = draftOf(ORGANIZATION_SETTINGS, SETTINGS);
const organizationChange = (before: Draft<typeof SETTINGS>, after: Draft<typeof SETTINGS>) =>
  changeOf(ORGANIZATION_SETTINGS, before as Partial<typeof SETTINGS>, after);

describe('the form of an organization', () => {
  it('sends empty boxes of a new organization as no limit', () => {
    const draft = { ...NEW_ORGANIZATION, name: ' Acme ', creditNanoUsd: '10', concurrency: 8 };
    expect(newOrganization(draft, 'crd-1')).toEqual({
      name: 'Acme',
      creditNanoUsd: '10',
      reference: 'crd-1',
      concurrency: 8,
      allowMultipleCompletions: false,
    });
  });

  it('sends nothing if nothing was changed', () => {
    expect(organizationChange(BEFORE, { ...BEFORE, name: 'Acme ' })).toEqual({});
  });

  it('sends only changes, and removes a limit whose box was emptied', () => {
    const after = { ...BEFORE, name: 'Acme Inc', dailyBudgetNanoUsd: undefined, tokensPerMinute: 9, concurrency: 9 };
    expect(organizationChange(BEFORE, after)).toEqual({
      name: 'Acme Inc',
      dailyBudgetNanoUsd: null,
      tokensPerMinute: 9,
      concurrency: 9,
    });
    expect(organizationChange(BEFORE, { ...BEFORE, allowMultipleCompletions: true })).toEqual({
      allowMultipleCompletions: true,
    });
  });

  it('sets and removes a price list', () => {
    const partner = { ...BEFORE, priceList: 'partner' };
    expect(organizationChange(BEFORE, partner)).toEqual({ priceList: 'partner' });
    expect(organizationChange(partner, BEFORE)).toEqual({ priceList: null });
  });

  it('sets concurrency to its default if its box was emptied, because it cannot be unlimited', () => {
    expect(organizationChange(BEFORE, { ...BEFORE, concurrency: undefined })).toEqual({ concurrency: 64 });
  });
});

it('shows the exact new balance', () => {
  expect(balanceAfter('9007199254740993', '1')).toBe('9007199254740994');
  expect(balanceAfter('5', '-7')).toBe('-2');
});

it('shows on its button what will be booked', () => {
  expect(creditButton(undefined)).toBe('Add credit');
  expect(creditButton('12500000000')).toBe('Add $12.50');
  expect(creditButton('-1')).toBe('Take $0.000000001 back');
});

it('makes a new reference for each dialog', () => {
  const made = Array.from({ length: 100 }, newReference);
  expect(new Set(made).size).toBe(100);
  for (const reference of made) expect(reference).toMatch(/^crd-[0-9a-f]{32}$/);
});

it('leaves out empty boxes', () => {
  expect(creditBody({ amountNanoUsd: '1', note: '  ', reference: '' })).toEqual({ amountNanoUsd: '1' });
  expect(creditBody({ amountNanoUsd: '1', note: ' paid ', reference: 'inv-1' })).toEqual({
    amountNanoUsd: '1',
    note: 'paid',
    reference: 'inv-1',
  });
});
