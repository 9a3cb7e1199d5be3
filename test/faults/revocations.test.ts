import { expect, inject, test } from 'vitest';
import { missingRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { runRevocations } from '../load/revocation-run.ts';
import { staleAnswers } from '../load/revocation-verdict.ts';

/** A short run of `test/load/revocations.ts`. */
const CHANGES = 200;
/**
 * If every command is judged as having returned this much earlier, stale outcomes must be found.
 */
const SHIFT_MS = 1_000;
const REFUSED = [
  '401 key_expired',
  '401 key_revoked',
  '403 missing_scope',
  '403 org_suspended',
  '429 daily_budget_exceeded',
];

requirement(missingRedis, () => {
  test('no request that starts after a change has returned gets an outcome of before it, although processes are suspended', {
    timeout: 180_000,
  }, async () => {
    const { asked, phases, freezes } = await runRevocations({
      postgresSocketDir: inject('postgresSocketDir'),
      changes: CHANGES,
      requestsPerSecond: 200,
      freezeEveryMs: 3_000,
    });
    expect(staleAnswers(asked, phases)).toEqual([]);
    expect(staleAnswers(asked, phases, SHIFT_MS)).not.toEqual([]);
    expect(phases).toHaveLength(2 * CHANGES);
    expect(freezes).toBeGreaterThan(0);
    // On a busy machine some requests are also refused for lack of capacity.
    expect(asked.map(({ outcome }) => outcome)).toEqual(expect.arrayContaining(['200', ...REFUSED]));
  });
});
