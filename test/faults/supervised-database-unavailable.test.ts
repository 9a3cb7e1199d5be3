import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../harness/postgres-server.ts';
import { untilSettled } from '../harness/serving.ts';
import { type SupervisedStack, startSupervisedStack } from '../harness/stack.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';

/**
 * The supervisor queries the database between the first served request and the banner, which waits
 * for the dashboard.
 */
const AGAIN_MS = 40_000;

let postgres: TestPostgres;
let provider: FakeProvider;
let stack: SupervisedStack;

beforeEach(async () => {
  postgres = await startTestPostgres({ fsync: 'off' });
  provider = await startFakeProvider();
  stack = await startSupervisedStack({
    postgresSocketDir: postgres.socketDir,
    config: { providers: { fake: { base_url: provider.baseUrl } }, models: { one: {} } },
  });
});
afterEach(async () => {
  if (postgres?.isDown()) await postgres.restart();
  await stack?.close();
  await provider?.close();
  await postgres?.stop();
});

test('if the database fails before the banner, no process ends, and the banner follows its return', async () => {
  await postgres.crash();
  // By then the dashboard has been tried, and the supervisor is about to query the database.
  await expect.poll(() => stack.logs(), { timeout: AGAIN_MS }).toMatch(/database does not answer|dashboard listens/i);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await postgres.restart();
  await untilSettled(stack, AGAIN_MS);
  await expect.poll(() => stack.logs(), { timeout: AGAIN_MS }).toContain('Inference Gateway is ready.');
});
