import { describe, expect, test } from 'vitest';
import type { AdmissionRequest, HoldRelease } from '../limit-store.ts';
import { answerHolds, type HoldRequest } from './holds-call.ts';

const NOW_MS = 1_763_800_000_000;
const DAY = 20_414;
const asked = { organizationId: 'org', keyId: 'key', nowMs: NOW_MS };
const account = { sequence: 1, day: DAY, spentNanoUsd: 0n };
const admission: AdmissionRequest = {
  ...{ ...asked, holdId: 'taken', concurrency: 1, organizationLimits: {}, keyLimits: {}, tokens: 1, holdNanoUsd: 1n },
  totalTimeoutMs: 60_000,
  snapshot: { ledgerEpoch: 'epoch', organization: { ...account, balanceNanoUsd: 10n }, key: account },
};
const release: HoldRelease = { ...asked, holdId: 'freed', tokensUsed: 1 };

function waiting() {
  const requests: HoldRequest[] = [];
  const take = () =>
    new Promise((resolve, reject) => requests.push({ kind: 'take', asked: admission, resolve, reject }));
  const free = () =>
    new Promise<void>((resolve, reject) => requests.push({ kind: 'free', asked: release, resolve, reject }));
  return { requests, take, free };
}

describe('what a shared call of Redis answers', () => {
  test('an admission that is answered as a release took nothing that is known of: it is rejected, and its neighbours are not', async () => {
    const { requests, take, free } = waiting();
    const answered = Promise.allSettled([free(), take(), take()]);
    const admitted = ['admitted', DAY, Math.floor(NOW_MS / 60_000), '', 1, 1, 1, 1];
    expect(answerHolds(requests, [NOW_MS, 'done', 'done', ...admitted])).toBe(false);
    expect(await answered).toEqual([
      { status: 'fulfilled', value: undefined },
      { status: 'rejected', reason: new Error('Redis: an admission was answered as a release') },
      { status: 'fulfilled', value: { kind: 'admitted', day: DAY, windows: {} } },
    ]);
  });
});
