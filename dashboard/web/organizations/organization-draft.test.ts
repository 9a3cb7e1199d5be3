import { describe, expect, it } from 'vitest';
import { draftOf, NEW_ORGANIZATION, newOrganization, organizationChange } from './organization-draft.ts';

const LIMITS = { requestsPerMinute: 60, dailyBudgetNanoUsd: '5000', concurrency: 8, allowMultipleCompletions: false };
const BEFORE = draftOf({ name: 'Acme', limits: LIMITS });

describe('the form of an organization', () => {
  it('sends empty boxes of a new one as no limit', () => {
    const draft = { ...NEW_ORGANIZATION, name: ' Acme ', creditNanoUsd: '10', concurrency: 8 };
    expect(newOrganization(draft, 'crd-1')).toEqual({
      name: 'Acme',
      creditNanoUsd: '10',
      reference: 'crd-1',
      concurrency: 8,
      allowMultipleCompletions: false,
    });
  });

  it('sends nothing when nothing was changed', () => {
    expect(organizationChange(BEFORE, { ...BEFORE, name: 'Acme ' })).toEqual({});
  });

  it('sends what was changed, and lifts a limit whose box was emptied', () => {
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

  it('leaves concurrency, which has no “unlimited”, as it was when its box was emptied', () => {
    expect(organizationChange(BEFORE, { ...BEFORE, concurrency: undefined })).toEqual({});
  });
});
