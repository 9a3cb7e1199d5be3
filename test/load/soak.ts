/**
 * Long-running load of all kinds: `node test/load/soak.ts --minutes 30 --rate 100`. Prints a line
 * every minute. Exits with 1 if an outcome was unexpected, the ledger disagrees, money stays held,
 * or memory or latency are not flat as `SOAK_BOUNDS` defines.
 */
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { type FlatBounds, type Interval, trendOf, whatIsNotFlat } from './soak-figures.ts';
import { runSoak } from './soak-run.ts';

/** A leak of 100 bytes in each of the 6,000 requests of a minute would add up to 0.6 MiB. */
const SOAK_BOUNDS: FlatBounds = { gatewayMiB: 0.6, envoyMiB: 0.3, p50Factor: 1.5 };
const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, rate: { type: 'string', default: '100' } },
});
const postgres = await startTestPostgres();
let minute = 0;

function show(interval: Interval, faults: Readonly<Record<string, number>>): void {
  const { requests, p50Ms, p99Ms, usage } = interval;
  minute += 1;
  process.stdout.write(
    `minute ${minute}: ${requests} requests, faults ${JSON.stringify(faults)}, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ` +
      `RSS gateway ${usage.gatewayRssMiB.toFixed(1)} Envoy ${usage.envoyRssMiB.toFixed(1)} PostgreSQL ${usage.postgresMiB.toFixed(0)} MiB, ` +
      `heap ${usage.heapMiB.toFixed(1)} MiB, files ${usage.gatewayFds} + ${usage.envoyFds}, holds ${usage.holds}\n`,
  );
}

try {
  const { intervals, faults, seen, errorLines } = await runSoak({
    postgresSocketDir: postgres.socketDir,
    postgresPid: postgres.pid,
    intervals: Number(values.minutes),
    intervalMs: MINUTE_MS,
    requestsPerSecond: Number(values.rate),
    onInterval: show,
  });
  const trend = trendOf(intervals);
  const wrong = [...Object.entries(faults).map(([fault, count]) => `${count} x ${fault}`), ...errorLines].concat(
    whatIsNotFlat(trend, SOAK_BOUNDS),
  );
  process.stdout.write(
    `${JSON.stringify(seen)}\nthe ledger agrees, nothing is held; ${JSON.stringify(trend)}\n` +
      `${wrong.length === 0 ? 'flat, and nothing that was not meant' : wrong.join('\n')}\n`,
  );
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  await postgres.stop();
}
