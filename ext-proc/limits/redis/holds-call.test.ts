import { describe, expect, test } from 'vitest';
import type { AdmissionRequest, HoldRelease } from '../limit-store.ts';
import { type HoldRequest, holdsCall, outcomesOf } from './holds-call.ts';

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

const take: HoldRequest = { kind: 'admit', facts: admission };
const free: HoldRequest = { kind: 'release', facts: release };
const admitted = ['admitted', DAY, Math.floor(NOW_MS / 60_000), '', 1, 1, 1, 1];
const ADMITTED = { ok: true, value: { kind: 'admitted', day: DAY, windows: {} } };
const RELEASED = { ok: true, value: undefined };

describe('outcomes of a shared call of Redis', () => {
  test('an admission with the reply of a release fails, since what it took is unknown; its neighbours do not', () => {
    const inOrder = [free, take, take].map((request, position) => ({ request, position }));
    expect(outcomesOf(inOrder, [NOW_MS, 'done', 'done', ...admitted])).toEqual({
      outcomes: [
        RELEASED,
        { ok: false, error: new Error('Redis: the reply to an admission is that of a release') },
        ADMITTED,
      ],
      anyClosed: false,
    });
  });

  test('outcomes are in the order of the requests, whichever order the call had', () => {
    const of = (organizationId: string): HoldRequest => ({ kind: 'release', facts: { ...release, organizationId } });
    const { inOrder } = holdsCall([of('a'), take, of('a'), take], { of: () => 0 });
    expect(inOrder.map(({ position }) => position)).toEqual([0, 2, 1, 3]);
    const reply = [NOW_MS, 'done', 'done', ...admitted, 'closed'];
    const { outcomes, anyClosed } = outcomesOf(inOrder, reply);
    expect(outcomes.slice(0, 3)).toEqual([RELEASED, ADMITTED, RELEASED]);
    expect(outcomes[3]).toMatchObject({ ok: false });
    expect(anyClosed).toBe(true);
  });
});
