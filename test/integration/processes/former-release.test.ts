import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { REPOSITORY } from '../../harness/deployment.ts';
import {
  balanceOf,
  eventsOf,
  gatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import { startStack } from '../../harness/stack.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { startFakeProvider } from '../../provider/fake-provider.ts';

/**
 * A release is rolled out over a database that is migrated already, so for a while the code before
 * the newest migration works on the schema after it. Its processes run on: this is that code, given
 * the new migrations as done, with every statement that requests need.
 */
const MIGRATIONS = 'database/migrations';
/** The folder of the migrations until November 2026. Releases in the history still have it. */
const FORMER_MIGRATIONS = 'ext-proc/stores/postgres/migrations';
const USAGE = { prompt_tokens: 1000, completion_tokens: 500 };
const COST = 0.0015;

/**
 * The commit before the one that brought the newest migration. Commits further back may be parts of
 * one change that do not run by themselves.
 */
function formerCommit(): string {
  const folders = [`${MIGRATIONS}/*.sql`, `${FORMER_MIGRATIONS}/*.sql`];
  // A migration that was moved is a rename (`-M`), not an addition.
  const added = ['log', '-1', '-M', '--format=%H', '--diff-filter=A', '--', ...folders];
  const newest = execFileSync('git', added, { cwd: REPOSITORY, encoding: 'utf8', stdio: 'pipe' }).trim();
  if (newest === '') throw new Error('the history has no commit that brought a migration');
  return `${newest}^`;
}

test('the code before the newest migration serves and charges on the schema after it', async () => {
  const commit = formerCommit();
  const release = mkdtempSync(join(tmpdir(), 'gw-former-'));
  const archive = execFileSync('git', ['archive', commit], { cwd: REPOSITORY, maxBuffer: 256 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', release], { input: archive });
  const folder = [MIGRATIONS, FORMER_MIGRATIONS].map((path) => join(release, path)).find(existsSync);
  if (folder === undefined) throw new Error(`commit ${commit} has no migrations`);
  rmSync(folder, { recursive: true });
  cpSync(join(REPOSITORY, MIGRATIONS), folder, { recursive: true });
  symlinkSync(join(REPOSITORY, 'node_modules'), join(release, 'node_modules'));

  const provider = await startFakeProvider();
  provider.script('json', jsonAnswer({ usage: USAGE }));
  provider.script('stream', streamAnswer({ usage: USAGE }));
  const stack = await startStack({
    release,
    postgresSocketDir: inject('postgresSocketDir'),
    config: { isFormer: true, providers: { fake: { base_url: provider.baseUrl } }, models: { json: {}, stream: {} } },
  });
  const client = gatewayClient(stack.origin, (await stack.operator.customer()).key, { isFormer: true });
  try {
    const keyed = { headers: { 'idempotency-key': 'one' } };
    const [json, first, stream] = [
      await client.chat({ model: 'json' }),
      await client.chat({ model: 'json' }, keyed),
      await client.chat({ model: 'stream', stream: true }),
    ];
    expect([json, first, stream].map(outcome)).toEqual(['200', '200', '200']);
    expect(eventsOf(stream).at(-1)).toBe('[DONE]');
    const replayed = await client.chat({ model: 'json' }, keyed);
    expect([replayed.text, replayed.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    for (const answer of [json, first, stream]) {
      const generation = await settledGeneration(client, String(answer.headers['x-generation-id']));
      expect(generation).toMatchObject({ total_cost: COST });
    }
    expect(jsonOf<{ total: object }>(await client.get('/v1/usage')).total).toMatchObject({ requests: 3 });
    await untilNothingHeld(client);
    expect(await balanceOf(client)).toBe(100 - 3 * COST);
    await stack.operator.verifyLedger();
    expect(stack.logs()).not.toContain('"level":"error"');
  } finally {
    client.close();
    await stack.close();
    await provider.close();
    rmSync(release, { recursive: true });
  }
});
