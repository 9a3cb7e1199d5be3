import { expect, it } from 'vitest';
import type { TopUpView } from '#contract/top-ups.ts';
import { isMoving, paymentsMark, topUpNews, topUpState } from './top-up-state.ts';

it('shows the state of a payment', () => {
  const wordOf = (state: TopUpView['state'], more: Partial<TopUpView> = {}) =>
    topUpState({ state, automatic: false, returnedNanoUsd: '0', ...more }).word;
  expect(wordOf('paid')).toBe('Paid');
  expect(wordOf('paid', { returnedNanoUsd: '1' })).toBe('Returned');
  expect(wordOf('expired')).toBe('Not paid');
  expect(wordOf('open')).toBe('Not paid yet');
  expect(wordOf('open', { automatic: true })).toBe('In progress');
  expect(wordOf('open', { failure: 'The bank takes days.' })).toBe('In progress');
});

it('has a message for a user who returns from paying', () => {
  expect(topUpNews({ state: 'open' }).title).toBe('Waiting for the payment');
  expect(topUpNews({ state: 'open', failure: 'The bank takes days.' }).text).toBe('The bank takes days.');
  expect(topUpNews({ state: 'failed', failure: 'Declined.' }).text).toBe('Declined.');
  expect(topUpNews({ state: 'expired' }).text).toBe('Nothing was charged.');
  expect(topUpNews({ state: 'refused', failure: 'Another amount.' }).text).toMatch(/^Another amount\. .*operator/);
});

it('follows a payment in progress, and an automatic one that is about to begin', () => {
  const topUp = { id: 'top-1', automatic: false, amountNanoUsd: '1', returnedNanoUsd: '0', createdAtMs: 1 } as const;
  const automatic = { belowUsd: 5, amountUsd: 10, dailyUsd: 50 };
  const below = 4_999_999_999n;
  expect(isMoving({ topUps: [{ ...topUp, state: 'open' }] }, undefined)).toBe(true);
  expect(isMoving({ topUps: [{ ...topUp, state: 'paid' }] }, below)).toBe(false);
  expect(isMoving({ topUps: [], automatic }, below)).toBe(true);
  expect(isMoving({ topUps: [], automatic }, below + 1n)).toBe(false);
  expect(isMoving({ topUps: [], automatic, stopped: { atMs: 1, reason: 'Declined.' } }, below)).toBe(false);
});

it('changes its mark when a payment begins, is made or is returned', () => {
  const states = [
    { state: 'open', returnedNanoUsd: '0' },
    { state: 'paid', returnedNanoUsd: '0' },
    { state: 'paid', returnedNanoUsd: '5' },
  ] as const;
  const marks = states.map((one) =>
    paymentsMark([{ id: 'top-1', automatic: false, amountNanoUsd: '9', createdAtMs: 1, ...one }]),
  );
  expect(new Set([paymentsMark([]), ...marks]).size).toBe(4);
});
