import { expect, inject, test } from 'vitest';
import { missingRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { runRevocations } from '../load/revocation-run.ts';
import { staleAnswers } from '../load/revocation-verdict.ts';

/** `test/load/revocations.ts`, short. */
const CHANGES = 200;
/** Judged as if commands had answered so much earlier, some answers have to be wrong. */
const SHIFT_MS = 1_000;
const REFUSED = [
  '401 key_expired',
  '401 key_revoked',
  '403 missing_scope',
  '403 org_suspended',
  '429 daily_budget_exceeded',
];

requirement(missingRedis, () => {
  test('no request that began after a change had answered is answered as before it, though a process stood still', {
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
    // On a busy machine some are refused for lack of capacity.
    expect(asked.map(({ outcome }) => outcome)).toEqual(expect.arrayContaining(['200', ...REFUSED]));
  });
});
