import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS, MINUTE_MS, utcDay } from '../../ext-proc/domain/clock.ts';
import type { AccountSnapshot } from '../../ext-proc/domain/principal.ts';
import type { AdmissionRequest, AdmissionResult, LimitStore, LiveHold } from '../../ext-proc/stores/limit-store.ts';

/** Opens an empty store. Tests pass the time in, so a store must take it from the calls. */
export type OpenLimitStore = (options: { readonly leaseMs: number }) => Promise<LimitStore>;

export const LEASE_MS = 15_000;
/** 10:00:00 UTC of some day. */
export const NOON_ISH = 20_778 * DAY_MS + 10 * 60 * MINUTE_MS;
const DAY = utcDay(NOON_ISH);

export interface SnapshotParts {
  readonly epoch?: string;
  readonly sequence?: number;
  readonly balance?: bigint;
  readonly day?: number;
  readonly spent?: bigint;
  readonly keySpent?: bigint;
}

export function snapshotOf({
  epoch = 'epoch-1',
  sequence = 1,
  balance = 1_000n,
  day = DAY,
  spent = 0n,
  keySpent = 0n,
}: SnapshotParts): AccountSnapshot {
  return {
    ledgerEpoch: epoch,
    organization: { sequence, balanceNanoUsd: balance, day, spentNanoUsd: spent },
    key: { sequence, day, spentNanoUsd: keySpent },
  };
}

let ids = 0;

export function requestOf(changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    holdId: `hold-${++ids}`,
    organizationId: 'org-1',
    keyId: 'key-1',
    nowMs: NOON_ISH,
    concurrency: 64,
    organizationLimits: {},
    keyLimits: {},
    tokens: 10,
    holdNanoUsd: 100n,
    snapshot: snapshotOf({}),
    ...changes,
  };
}

/** As the gateway does it: asks again with the same snapshot, as if it had just been read. */
export async function admitFresh(store: LimitStore, changes: Partial<AdmissionRequest> = {}): Promise<AdmissionResult> {
  const request = requestOf(changes);
  const first = await store.admit(request);
  return first.kind === 'read_again' ? store.admit(request) : first;
}

/** What every limit store has to do, whatever it keeps its state in. */
export function limitStoreContract(name: string, open: OpenLimitStore): void {
  describe(`${name} as a limit store`, () => {
    let store: LimitStore;
    beforeEach(async () => {
      store = await open({ leaseMs: LEASE_MS });
    });
    afterEach(() => store.close());

    const release = (holdId: string, changes: Partial<Parameters<LimitStore['release']>[0]> = {}) =>
      store.release({ holdId, organizationId: 'org-1', keyId: 'key-1', nowMs: NOON_ISH, tokensUsed: 0, ...changes });
    const live = (holdId: string): LiveHold => ({
      holdId,
      organizationId: 'org-1',
      keyId: 'key-1',
      day: DAY,
      holdNanoUsd: 100n,
    });

    describe('rules', () => {
      it('fail in the documented order', async () => {
        const limits = { requestsPerMinute: 1, tokensPerMinute: 10, dailyBudgetNanoUsd: 150n };
        const all = { concurrency: 1, organizationLimits: limits, snapshot: snapshotOf({ balance: 150n }) };
        expect(await admitFresh(store, all)).toMatchObject({ kind: 'admitted', day: DAY });
        const rule = async (changes: Partial<AdmissionRequest>) => {
          const result = await admitFresh(store, { ...all, ...changes });
          return result.kind === 'refused' ? [result.rule, result.resetsAtMs, result.availableNanoUsd] : result;
        };
        const minute = NOON_ISH + MINUTE_MS;
        expect(await rule({})).toEqual(['concurrency', NOON_ISH, 50n]);
        expect(await rule({ concurrency: 2 })).toEqual(['requests', minute, 50n]);
        const noRequests = { concurrency: 2, organizationLimits: { ...limits, requestsPerMinute: 2 } };
        expect(await rule(noRequests)).toEqual(['tokens', minute, 50n]);
        const noTokens = { concurrency: 2, organizationLimits: { dailyBudgetNanoUsd: 150n } };
        expect(await rule(noTokens)).toEqual(['daily_budget', (DAY + 1) * DAY_MS, 50n]);
        expect(await rule({ concurrency: 2, organizationLimits: {} })).toEqual(['balance', NOON_ISH, 50n]);
        expect(await rule({ concurrency: 2, organizationLimits: {}, holdNanoUsd: 50n })).toMatchObject({
          kind: 'admitted',
        });
      });

      it.each([
        ['requests', { requestsPerMinute: 1 }],
        ['tokens', { tokensPerMinute: 10 }],
        ['daily_budget', { dailyBudgetNanoUsd: 100n }],
      ] as const)('bind a key by its own limit of %s', async (rule, keyLimits) => {
        expect(await admitFresh(store, { keyLimits })).toMatchObject({ kind: 'admitted' });
        expect(await admitFresh(store, { keyLimits })).toMatchObject({ kind: 'refused', rule });
        expect(await admitFresh(store, { keyLimits, keyId: 'key-2' })).toMatchObject({ kind: 'admitted' });
        expect(await admitFresh(store, { keyId: 'key-1' })).toMatchObject({ kind: 'admitted' });
      });

      it('take nothing when one of them fails', async () => {
        const organizationLimits = { requestsPerMinute: 5, tokensPerMinute: 100 };
        const keyLimits = { requestsPerMinute: 5, tokensPerMinute: 100 };
        await admitFresh(store, { organizationLimits, keyLimits });
        for (let i = 0; i < 9; i++) {
          const refused = await admitFresh(store, { organizationLimits, keyLimits, holdNanoUsd: 901n });
          expect(refused).toMatchObject({ rule: 'balance', availableNanoUsd: 900n });
          expect(refused).toMatchObject({ windows: { requests: { remaining: 4 }, tokens: { remaining: 90 } } });
        }
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
      });

      it('admit exactly ten of sixty at once against a balance worth ten', async () => {
        const results = await Promise.all(Array.from({ length: 60 }, () => admitFresh(store)));
        const kinds = results.map((result) => (result.kind === 'refused' ? result.rule : result.kind));
        expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(10);
        expect(kinds.filter((kind) => kind === 'balance')).toHaveLength(50);
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(1_000n);
      });

      it('refuse a free request too when the balance is below zero, and admit it at zero', async () => {
        const snapshot = (balance: bigint, sequence: number) => snapshotOf({ balance, sequence });
        expect(await admitFresh(store, { holdNanoUsd: 0n, snapshot: snapshot(-1n, 1) })).toMatchObject({
          rule: 'balance',
        });
        expect(await admitFresh(store, { holdNanoUsd: 0n, snapshot: snapshot(0n, 2) })).toMatchObject({
          kind: 'admitted',
        });
      });
    });

    describe('windows', () => {
      it('begin and end with the UTC minute', async () => {
        const organizationLimits = { requestsPerMinute: 2 };
        const at = (nowMs: number) => admitFresh(store, { organizationLimits, nowMs });
        const resetsAtMs = NOON_ISH + MINUTE_MS;
        const window = (remaining: number) => ({ windows: { requests: { limit: 2, remaining, resetsAtMs } } });
        expect(await at(NOON_ISH)).toMatchObject(window(1));
        expect(await at(NOON_ISH + 59_999)).toMatchObject(window(0));
        expect(await at(NOON_ISH + 59_999)).toMatchObject({ rule: 'requests', ...window(0) });
        expect(await at(NOON_ISH + MINUTE_MS)).toMatchObject({
          kind: 'admitted',
          windows: { requests: { remaining: 1, resetsAtMs: resetsAtMs + MINUTE_MS } },
        });
      });

      it('are corrected to what was used, in the minute of the admission only', async () => {
        const organizationLimits = { tokensPerMinute: 100 };
        await admitFresh(store, { holdId: 'a', organizationLimits, tokens: 60 });
        await admitFresh(store, { holdId: 'b', organizationLimits, tokens: 40 });
        expect(await admitFresh(store, { organizationLimits })).toMatchObject({ rule: 'tokens' });
        await release('a', { tokensUsed: 20 });
        expect(await admitFresh(store, { organizationLimits, tokens: 40 })).toMatchObject({
          kind: 'admitted',
          windows: { tokens: { limit: 100, remaining: 0 } },
        });
        const nowMs = NOON_ISH + MINUTE_MS;
        await admitFresh(store, { organizationLimits, tokens: 30, nowMs });
        await release('b', { tokensUsed: 1_000, nowMs });
        expect(await admitFresh(store, { organizationLimits, tokens: 70, nowMs })).toMatchObject({ kind: 'admitted' });
      });

      it('let a request larger than the whole limit in when nothing is counted', async () => {
        const organizationLimits = { tokensPerMinute: 100 };
        const huge = { organizationLimits, tokens: 5_000 };
        expect(await admitFresh(store, { holdId: 'huge', ...huge })).toMatchObject({
          kind: 'admitted',
          windows: { tokens: { remaining: 0 } },
        });
        expect(await admitFresh(store, huge)).toMatchObject({ rule: 'tokens' });
        expect(await admitFresh(store, { organizationLimits, tokens: 1 })).toMatchObject({ rule: 'tokens' });
        await release('huge', { tokensUsed: 99 });
        expect(await admitFresh(store, huge)).toMatchObject({ rule: 'tokens' });
        expect(await admitFresh(store, { organizationLimits, tokens: 1 })).toMatchObject({ kind: 'admitted' });
      });

      it('report only limits that exist, and of key and organization the one with less left', async () => {
        const none = await admitFresh(store, { organizationId: 'org-2', keyId: 'key-9' });
        expect(none).toEqual({ kind: 'admitted', day: DAY, windows: {} });
        const both = {
          organizationLimits: { requestsPerMinute: 10 },
          keyLimits: { requestsPerMinute: 9, tokensPerMinute: 500 },
        };
        const resetsAtMs = NOON_ISH + MINUTE_MS;
        expect(await admitFresh(store, both)).toMatchObject({
          windows: {
            requests: { limit: 9, remaining: 8, resetsAtMs },
            tokens: { limit: 500, remaining: 490, resetsAtMs },
          },
        });
        await admitFresh(store, { ...both, keyId: 'key-2' });
        expect(await admitFresh(store, { ...both, keyId: 'key-3' })).toMatchObject({
          windows: {
            requests: { limit: 10, remaining: 7, resetsAtMs },
            tokens: { limit: 500, remaining: 490, resetsAtMs },
          },
        });
      });

      it('of reads are each key its own', async () => {
        for (let i = 0; i < 3; i++) expect(await store.takeRead('key-1', 3, NOON_ISH + i)).toEqual({ allowed: true });
        const refused = { allowed: false, resetsAtMs: NOON_ISH + MINUTE_MS };
        expect(await store.takeRead('key-1', 3, NOON_ISH + 5)).toEqual(refused);
        expect(await store.takeRead('key-2', 3, NOON_ISH + 5)).toEqual({ allowed: true });
        expect(await store.takeRead('key-1', 3, NOON_ISH + MINUTE_MS)).toEqual({ allowed: true });
      });
    });

    describe('daily budgets', () => {
      it('cover what was spent and what is held, of organization and of key', async () => {
        const limits = { dailyBudgetNanoUsd: 500n };
        const spent = snapshotOf({ spent: 400n, keySpent: 300n });
        expect(await admitFresh(store, { organizationLimits: limits, snapshot: spent })).toMatchObject({
          kind: 'admitted',
        });
        expect(await admitFresh(store, { organizationLimits: limits, snapshot: spent })).toMatchObject({
          rule: 'daily_budget',
        });
        expect(await admitFresh(store, { keyLimits: limits, snapshot: spent })).toMatchObject({ kind: 'admitted' });
        expect(await admitFresh(store, { keyLimits: limits, snapshot: spent })).toMatchObject({ rule: 'daily_budget' });
      });

      it('begin anew at midnight, while yesterday’s holds go on counting against the balance', async () => {
        const organizationLimits = { dailyBudgetNanoUsd: 100n };
        const midnight = (DAY + 1) * DAY_MS;
        const late = { organizationLimits, nowMs: midnight - 1 };
        expect(await admitFresh(store, { holdId: 'late', ...late })).toMatchObject({ kind: 'admitted', day: DAY });
        expect(await admitFresh(store, late)).toMatchObject({ rule: 'daily_budget', resetsAtMs: midnight });
        const early = { organizationLimits, nowMs: midnight };
        expect(await store.admit(requestOf(early))).toEqual({ kind: 'read_again', day: DAY + 1 });
        const today = snapshotOf({ day: DAY + 1, balance: 150n, sequence: 2 });
        expect(await admitFresh(store, { ...early, snapshot: today })).toMatchObject({
          rule: 'balance',
          availableNanoUsd: 50n,
        });
        expect(await admitFresh(store, { ...early, snapshot: today, holdNanoUsd: 50n })).toMatchObject({
          kind: 'admitted',
          day: DAY + 1,
        });
        // A charge of yesterday changes the balance, not today's spend.
        const settled = snapshotOf({ day: DAY, balance: 1_000n, sequence: 3, spent: 100n });
        await release('late', { nowMs: midnight + 1, snapshot: settled });
        expect(await admitFresh(store, { ...early, snapshot: today, holdNanoUsd: 50n })).toMatchObject({
          kind: 'admitted',
        });
      });
    });

    describe('holds', () => {
      it('end once: what is released again, or never was, changes nothing', async () => {
        await admitFresh(store, { holdId: 'a', concurrency: 2, tokens: 50 });
        await admitFresh(store, { holdId: 'b', concurrency: 2, tokens: 50 });
        await release('a', { tokensUsed: 10 });
        for (let i = 0; i < 5; i++) await release('a', { tokensUsed: 0 });
        await release('never', { tokensUsed: 0 });
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
        expect(
          await admitFresh(store, { concurrency: 2, tokens: 1, organizationLimits: { tokensPerMinute: 61 } }),
        ).toMatchObject({
          kind: 'admitted',
          windows: { tokens: { remaining: 0 } },
        });
        expect(await admitFresh(store, { concurrency: 2 })).toMatchObject({ rule: 'concurrency' });
      });

      it('are taken once: asking again for one that is held takes nothing more', async () => {
        const request = { holdId: 'a', concurrency: 2, organizationLimits: { requestsPerMinute: 2 } };
        await admitFresh(store, request);
        expect(await admitFresh(store, request)).toMatchObject({
          kind: 'admitted',
          windows: { requests: { remaining: 1 } },
        });
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
        await release('a');
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(0n);
      });

      it('give way to the charge in one step: never both missing, never both counted afterwards', async () => {
        await admitFresh(store, { holdId: 'a', holdNanoUsd: 700n });
        await release('a', { snapshot: snapshotOf({ sequence: 2, balance: 600n, spent: 400n }) });
        expect(await admitFresh(store, { holdNanoUsd: 601n })).toMatchObject({
          rule: 'balance',
          availableNanoUsd: 600n,
        });
        expect(await admitFresh(store, { holdNanoUsd: 600n })).toMatchObject({ kind: 'admitted' });
      });

      it('lapse when they are not renewed, and a late release frees nothing twice', async () => {
        await admitFresh(store, { holdId: 'a' });
        await admitFresh(store, { holdId: 'b' });
        expect(await store.renew([live('a')], NOON_ISH + 10_000)).toEqual([]);
        expect(await store.renew([live('a'), live('b'), live('c')], NOON_ISH + LEASE_MS)).toEqual(['b', 'c']);
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
        await release('b', { nowMs: NOON_ISH + LEASE_MS, snapshot: snapshotOf({ sequence: 2, balance: 300n }) });
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
        const later = { nowMs: NOON_ISH + 10_001 + LEASE_MS };
        expect(await admitFresh(store, { ...later, concurrency: 1, holdNanoUsd: 1n })).toMatchObject({
          rule: 'concurrency',
        });
        const lapsed = { nowMs: NOON_ISH + 2 * LEASE_MS };
        expect(await admitFresh(store, { ...lapsed, concurrency: 1, holdNanoUsd: 301n })).toMatchObject({
          availableNanoUsd: 300n,
        });
      });
    });

    describe('snapshots', () => {
      it('are kept by sequence: late, repeated and reordered ones change nothing', async () => {
        await admitFresh(store, { holdId: 'a', snapshot: snapshotOf({ sequence: 5, balance: 500n }) });
        await release('a', { snapshot: snapshotOf({ sequence: 7, balance: 300n, spent: 200n, keySpent: 200n }) });
        const newest = snapshotOf({ sequence: 7, balance: 300n, spent: 200n, keySpent: 200n });
        const late = [5, 6, 1].map((sequence) => snapshotOf({ sequence, balance: 999n }));
        for (const snapshot of [...late, newest]) {
          expect(await admitFresh(store, { snapshot, holdNanoUsd: 301n })).toMatchObject({
            rule: 'balance',
            availableNanoUsd: 300n,
          });
        }
        const budget = { dailyBudgetNanoUsd: 299n };
        const stale = snapshotOf({ sequence: 6, balance: 999n });
        expect(await admitFresh(store, { organizationLimits: budget, snapshot: stale })).toMatchObject({
          rule: 'daily_budget',
        });
        expect(await admitFresh(store, { keyLimits: budget, snapshot: stale })).toMatchObject({ rule: 'daily_budget' });
        const credited = snapshotOf({ sequence: 8, balance: 9_000n });
        expect(await admitFresh(store, { snapshot: credited, holdNanoUsd: 9_000n })).toMatchObject({
          kind: 'admitted',
        });
      });

      it('are not believed before the caller was told to read: nor one that another caller read long ago', async () => {
        const old = snapshotOf({ sequence: 1, balance: 1_000n });
        const first = requestOf({ snapshot: old });
        const second = requestOf({ snapshot: old });
        expect(await store.admit(first)).toEqual({ kind: 'read_again', day: DAY });
        expect(await store.admit(second)).toEqual({ kind: 'read_again', day: DAY });
        const fresh = snapshotOf({ sequence: 9, balance: 100n });
        expect(await store.admit({ ...first, snapshot: fresh })).toMatchObject({ kind: 'admitted' });
        expect(await store.admit(requestOf({ snapshot: old }))).toMatchObject({
          rule: 'balance',
          availableNanoUsd: 0n,
        });
      });

      it('of a key are not believed either, before its first caller was told to read', async () => {
        await admitFresh(store);
        const request = requestOf({ keyId: 'key-2', keyLimits: { dailyBudgetNanoUsd: 150n } });
        expect(await store.admit(request)).toEqual({ kind: 'read_again', day: DAY });
        const fresh = snapshotOf({ sequence: 2, keySpent: 51n });
        expect(await store.admit({ ...request, snapshot: fresh })).toMatchObject({ rule: 'daily_budget' });
      });

      it('of another day make the caller read again', async () => {
        await admitFresh(store);
        const yesterday = snapshotOf({ day: DAY - 1 });
        expect(await store.admit(requestOf({ snapshot: yesterday }))).toEqual({ kind: 'read_again', day: DAY });
      });

      it('of another epoch make everybody read again, and what comes back then counts, whatever its sequence', async () => {
        await admitFresh(store, { holdId: 'a', snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) });
        const restored = snapshotOf({ epoch: 'epoch-2', sequence: 3, balance: 250n });
        const [one, two] = [
          requestOf({ snapshot: restored }),
          requestOf({ snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) }),
        ];
        expect(await store.admit(one)).toEqual({ kind: 'read_again', day: DAY });
        expect(await store.admit(two)).toEqual({ kind: 'read_again', day: DAY });
        expect(await store.admit(one)).toMatchObject({ kind: 'admitted' });
        // The first hold goes on counting; the one who read before the restore reads again.
        expect(await store.heldNanoUsd('org-1', NOON_ISH)).toBe(200n);
        expect(await store.admit(two)).toEqual({ kind: 'read_again', day: DAY });
        expect(await store.admit({ ...two, snapshot: restored })).toMatchObject({
          rule: 'balance',
          availableNanoUsd: 50n,
        });
      });

      it('of another epoch, brought by a release, are not mixed with what is known', async () => {
        await admitFresh(store, { holdId: 'a', snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) });
        await release('a', { snapshot: snapshotOf({ epoch: 'epoch-2', sequence: 60, balance: 9_999n }) });
        const request = requestOf({ snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) });
        expect(await store.admit(request)).toEqual({ kind: 'read_again', day: DAY });
        const restored = snapshotOf({ epoch: 'epoch-2', sequence: 3, balance: 99n });
        expect(await store.admit({ ...request, snapshot: restored })).toMatchObject({
          rule: 'balance',
          availableNanoUsd: 99n,
        });
      });
    });
  });
}
