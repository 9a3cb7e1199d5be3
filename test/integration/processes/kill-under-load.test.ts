import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { gatewayClient } from '../../harness/gateway-client.ts';
import { startTestPostgres, type TestPostgres } from '../../harness/postgres-server.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../../harness/redis-server.ts';
import { requirement } from '../../harness/requirement.ts';
import { untilSettled } from '../../harness/serving.ts';
import { type SupervisedStack, startSupervisedStack } from '../../harness/stack.ts';
import { supervisedChildren } from '../../harness/supervised-children.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../../load/planned-answers.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';

/** The duration of the load. KILL_LOAD_SECONDS=60 is the full test. */
const LOAD_MS = Number(process.env.KILL_LOAD_SECONDS ?? '10') * 1000;
const SMALL_CREDIT_USD = '0.005';
const QUIET_MS = 40_000;
const LIMIT_MS = LOAD_MS + 120_000;

interface Scene {
  readonly postgres: TestPostgres;
  readonly provider: FakeProvider;
  readonly stack: SupervisedStack;
}

async function withScene(redis: TestRedis | undefined, workers: number, play: (scene: Scene) => Promise<void>) {
  const postgres = await startTestPostgres();
  const provider = await startFakeProvider({ record: false });
  provider.script('exact', plannedAnswer);
  const stack = await startSupervisedStack({
    postgresSocketDir: postgres.socketDir,
    config: {
      ...(redis ? { redis: redis.url, workers } : {}),
      providers: { fake: { base_url: provider.baseUrl } },
      models: { exact: PLANNED_MODEL },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '40s' },
    },
  });
  try {
    await play({ postgres, provider, stack });
  } catch (error) {
    process.stderr.write(
      stack
        .logs()
        .split('\n')
        .filter((line) => line.includes('"level":"error"'))
        .slice(-5)
        .join('\n'),
    );
    throw error;
  } finally {
    if (postgres.isDown()) await postgres.restart();
    await stack.close();
    await provider.close();
    await postgres.stop();
  }
}

async function killGateway({ stack }: Scene): Promise<void> {
  const processes = () => supervisedChildren(stack.supervisorPid, 'ext-proc/main.ts');
  // The process may still be restarting after the former kill.
  await expect.poll(() => processes().length).toBeGreaterThan(0);
  const [victim] = processes();
  if (victim !== undefined) process.kill(victim, 'SIGKILL');
}

async function killPostgres({ postgres }: Scene): Promise<void> {
  await postgres.crash();
  await sleep(LOAD_MS / 20);
  await postgres.restart();
}

/** Runs the accidents at even intervals during the load. */
async function playUnderLoad(scene: Scene, accidents: readonly (() => Promise<void>)[]): Promise<void> {
  const { stack } = scene;
  const rich = await stack.operator.customer();
  const poor = await stack.operator.customer({ credit: SMALL_CREDIT_USD });
  const clients = [rich, rich, rich, poor].map(({ key }) => gatewayClient(stack.origin, key));
  const startMs = performance.now();
  const loading = plannedLoad(clients, startMs + LOAD_MS);
  for (const [index, accident] of accidents.entries()) {
    await sleep(Math.max(0, startMs + ((index + 1) * LOAD_MS) / (accidents.length + 2) - performance.now()));
    await accident();
  }
  const tally = await loading;
  await untilSettled(stack, QUIET_MS);
  await expectCharged(stack.databaseUrl, tally);
  await stack.operator.verifyLedger();
  for (const client of clients) client.close();
  // There was load, some requests failed, and the small balance was used up.
  expect(tally.complete.size).toBeGreaterThan(LOAD_MS / 200);
  expect(tally.outcomes['402']).toBeGreaterThan(0);
  expect(tally.outcomes['503']).toBeGreaterThan(0);
}

describe('32 in flight while processes are killed: every complete response is charged once and exactly', () => {
  test(
    'with kills of one gateway process, then PostgreSQL, then both again',
    () =>
      withScene(undefined, 1, (scene) =>
        playUnderLoad(scene, [
          () => killGateway(scene),
          () => killPostgres(scene),
          () => killGateway(scene),
          () => killPostgres(scene),
        ]),
      ),
    LIMIT_MS,
  );

  requirement(missingRedis, () => {
    test(
      'with kills of one of two gateway processes, PostgreSQL and Redis, and loss of the data of Redis',
      async () => {
        const redis = await startTestRedis();
        try {
          await withScene(redis, 2, (scene) =>
            playUnderLoad(scene, [
              () => killGateway(scene),
              () => killPostgres(scene),
              async () => void (await redis.admin.flushall()),
              () => redis.restart(),
            ]),
          );
        } finally {
          await redis.stop();
        }
      },
      LIMIT_MS,
    );
  });
});
