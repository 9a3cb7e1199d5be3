import { setTimeout as sleep } from 'node:timers/promises';
import { gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { startTestRedis } from '../harness/redis-server.ts';
import { untilSettled } from '../harness/serving.ts';
import { startSupervisedStack } from '../harness/stack.ts';
import { creditPoor, POOR_CREDIT_USD, startLoad } from './accident-load.ts';
import { judge, type Verdict } from './accident-verdict.ts';
import { ACCIDENTS } from './accidents.ts';
import { COUNTED_MODELS, type CountingProvider, startCountingProvider } from './counting-provider.ts';

export interface AccidentRunOptions {
  readonly durationMs: number;
  readonly requestsPerSecond: number;
  /** Time between the starts of two accidents. */
  readonly everyMs: number;
  readonly onAccident?: (name: string, requestsSoFar: number) => void;
  /** Gets the output of all processes at the end, even if the run fails before its verdict. */
  readonly onLogs: (logs: string) => void;
}

const CLIENTS = 12;
const QUIET_MS = 90_000;
/** `timeouts.total` plus a minute, after which the holds of a lost process have ended. */
const HELD_MS = 100_000;

/**
 * Sends requests of every kind at a steady rate through two processes with Redis while each process
 * and store is killed in turn, and returns the verdict.
 */
export async function runAccidents(options: AccidentRunOptions): Promise<Verdict> {
  const postgres = await startTestPostgres();
  const redis = await startTestRedis();
  const provider = await startCountingProvider();
  const stack = await startSupervisedStack({
    postgresSocketDir: postgres.socketDir,
    config: configOf(provider, redis.url),
  });
  try {
    const rich = await stack.operator.customer({ credit: '1000000', organization: { concurrency: 10_000 } });
    const poor = await stack.operator.customer({ credit: POOR_CREDIT_USD, organization: { concurrency: 10_000 } });
    const clientsOf = (key: string) => Array.from({ length: CLIENTS }, () => gatewayClient(stack.origin, key));
    const clients = { rich: clientsOf(rich.key), poor: clientsOf(poor.key) };
    const load = startLoad(clients, options.requestsPerSecond);
    const untilMs = performance.now() + options.durationMs;
    const crediting = creditPoor(stack.operator, poor.organizationId, AbortSignal.timeout(options.durationMs));
    for (let turn = 0; performance.now() + options.everyMs < untilMs; turn++) {
      await sleep(options.everyMs);
      const accident = ACCIDENTS[turn % ACCIDENTS.length];
      options.onAccident?.(accident?.name ?? '', load.begun());
      await accident?.run({ supervisorPid: stack.supervisorPid, postgres, redis });
    }
    await sleep(Math.max(0, untilMs - performance.now()));
    const seen = await load.stop();
    await crediting;
    await untilSettled(stack, QUIET_MS);
    for (const client of [clients.rich[0], clients.poor[0]]) if (client) await untilNothingHeld(client, HELD_MS);
    for (const client of [...clients.rich, ...clients.poor]) client.close();
    return await judge(stack, provider, seen);
  } finally {
    options.onLogs(stack.logs());
    if (postgres.isDown()) await postgres.restart();
    await stack.close();
    await provider.close();
    await redis.stop();
    await postgres.stop();
  }
}

function configOf(provider: CountingProvider, redisUrl: string) {
  return {
    redis: redisUrl,
    workers: 2,
    providers: { counting: { base_url: provider.baseUrl, on_disconnect: 'abort' as const } },
    models: Object.fromEntries(COUNTED_MODELS.map((name) => [name, {}])),
    timeouts: { first_byte: '10s', stream_idle: '10s', total: '20s' },
    retries: { per_target: 0 },
  };
}
