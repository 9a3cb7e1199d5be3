/**
 * The load checks in full size, with figures: 20,000 requests at 64 in flight, 1,500 concurrent
 * paced streams, 100 clients that never read 50 MB. Exits 1 when a request failed or Envoy grew
 * beyond its bound. `node test/load/main.ts`
 */

import { startTestPostgres } from '../harness/postgres-server.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { loadJob, withSilentClients } from './checks.ts';
import type { LoadResult } from './load-job.ts';
import { startLoadStack } from './load-stack.ts';

const ENVOY_BOUND_BYTES = 512 * 1024 * 1024;
const MIB = 1024 * 1024;

const postgres = await startTestPostgres();
const load = await startLoadStack(postgres.socketDir);
const { generator, target } = load;
let failed = false;

function report(name: string, result: LoadResult): void {
  const faults = Object.entries(result.faults).map(([fault, count]) => `${count} x ${fault}`);
  if (faults.length > 0) failed = true;
  const { latencyMs, firstByteMs, good, seconds } = result;
  process.stdout.write(
    `${name}: ${good} good in ${seconds.toFixed(1)} s, p50 ${latencyMs.p50.toFixed(1)} ms, p99 ${latencyMs.p99.toFixed(1)} ms, ` +
      `first byte p50 ${firstByteMs.p50.toFixed(1)} ms, faults: ${faults.join(', ') || 'none'}\n`,
  );
}

try {
  report(
    '20,000 requests at 64 in flight',
    await generator.run(loadJob(target, 'json', { concurrency: 64, requests: 20_000 })),
  );
  report(
    '1,500 concurrent paced streams, twice',
    await generator.run(loadJob(target, 'paced-stream', { concurrency: 1500, requests: 3000 })),
  );
  for (const model of ['big-stream', 'big-json'] as const) {
    const result = await withSilentClients(target, generator, model, 100, 12_000);
    if (result.envoyGrowthBytes > ENVOY_BOUND_BYTES || Object.keys(result.faults).length > 0) failed = true;
    process.stdout.write(
      `100 clients that never read (${model}): Envoy +${(result.envoyGrowthBytes / MIB).toFixed(0)} MiB, ` +
        `gateway +${(result.gatewayGrowthBytes / MIB).toFixed(0)} MiB; others p50 ${result.p50BeforeMs.toFixed(1)} ms before, ` +
        `${result.p50DuringMs.toFixed(1)} ms during, faults: ${JSON.stringify(result.faults)}\n`,
    );
  }
  const memory = [residentBytes(target.envoyPid), residentBytes(target.gatewayPid)].map((bytes) =>
    (bytes / MIB).toFixed(0),
  );
  process.stdout.write(`resident at the end: Envoy ${memory[0]} MiB, gateway process ${memory[1]} MiB\n`);
  await load.stack.operator.verifyLedger();
} finally {
  if (failed) process.stderr.write(`${load.stack.logs().slice(-4000)}\n`);
  await load.close();
  await postgres.stop();
}
process.exitCode = failed ? 1 : 0;
