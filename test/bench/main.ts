/**
 * `npm run bench`: the gateway beside plain Envoy on the same machine, in the same run. CPU of every process of each side from /proc;
 * load generator and provider run in processes of their own and are not counted. Rounds alternate, medians are printed.
 */
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../integration/postgres-server.ts';
import { startStack } from '../integration/stack.ts';
import { startGenerator, startMockProvider } from '../load/children.ts';
import { startPlainEnvoy } from './plain-envoy.ts';
import { cpuMicros, type ProcessGroup, residentBytes } from './process-cpu.ts';
import { printMemory, printTable } from './report.ts';
import { measureRound, type Round, type Side } from './round.ts';
import { SCENARIOS, WARM_UP_ROUNDS } from './scenarios.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, json: { type: 'boolean' } } });
const rounds = Number(values.rounds);

const provider = await startMockProvider();
const postgres = await startTestPostgres();
const stack = await startStack({
  postgresSocketDir: postgres.socketDir,
  config: {
    providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
    models: { json: {}, 'fast-stream': {} },
    timeouts: { first_byte: '60s', stream_idle: '60s', total: '120s' },
  },
});
const plainEnvoy = await startPlainEnvoy(provider.port);
const generator = await startGenerator();
try {
  const { key } = await stack.operator.customer({ credit: '100000', organization: { concurrency: 1000 } });
  const plain: Side = { name: 'plain Envoy', origin: plainEnvoy.origin, key, processes: { envoy: [plainEnvoy.pid] } };
  const processes: ProcessGroup = {
    envoy: [stack.envoy.pid],
    gateway: [stack.gateway.pid],
    postgres: [postgres.pid],
  };
  const ours: Side = { name: 'gateway', origin: stack.origin, key, processes };
  const results: Round[] = [];
  for (const scenario of SCENARIOS) {
    for (let round = 0; round < WARM_UP_ROUNDS; round++) {
      for (const side of [plain, ours]) await measureRound(generator, side, scenario, cpuMicros);
    }
    for (let round = 0; round < rounds; round++) {
      for (const side of [plain, ours]) results.push(await measureRound(generator, side, scenario, cpuMicros));
    }
  }
  await stack.operator.verifyLedger();
  const resident = {
    'plain Envoy': residentBytes(plainEnvoy.pid),
    envoy: residentBytes(stack.envoy.pid),
    gateway: residentBytes(stack.gateway.pid),
  };
  if (values.json) process.stdout.write(`${JSON.stringify({ rounds: results, residentBytes: resident })}\n`);
  else {
    printTable(results);
    printMemory(resident);
  }
} catch (error) {
  process.stderr.write(`${stack.logs().slice(-4000)}\n`);
  throw error;
} finally {
  await generator.stop();
  await plainEnvoy.stop();
  await stack.close();
  await postgres.stop();
  await provider.stop();
}
