/**
 * Measures how attacks of one organization change the latency of another one, which sends 20
 * requests a second: `node test/load/neighbour.ts [--seconds 20] [ATTACK…]`. Exits with 1 if a
 * request of the other organization fails or its p99 grows by 500 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { ATTACK_NAMES, type AttackName } from './neighbour-job.ts';
import { runNeighbours, startNeighbours } from './neighbour-run.ts';

const MOST_GROWTH_MS = 500;

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '20' } },
  allowPositionals: true,
});
const chosen = ATTACK_NAMES.filter((name: AttackName) => positionals.length === 0 || positionals.includes(name));
const forMs = Number(values.seconds) * 1000;
const postgres = await startTestPostgres();
const neighbours = await startNeighbours(postgres.socketDir);
let failed = chosen.length === 0;

try {
  for (const attack of chosen) {
    // Let the previous attack's remaining work end.
    await sleep(5_000);
    const before = await runNeighbours(neighbours, undefined, Math.min(forMs, 10_000));
    const during = await runNeighbours(neighbours, attack, forMs);
    const after = await runNeighbours(neighbours, undefined, 3_000);
    const growthMs = during.latencyMs.p99 - before.latencyMs.p99;
    failed ||= growthMs > MOST_GROWTH_MS || Object.keys(during.faults).length > 0;
    const row = {
      attack,
      before: before.latencyMs,
      during: during.latencyMs,
      growthMs,
      sent: during.sent,
      faults: during.faults,
    };
    process.stdout.write(`${JSON.stringify({ ...row, after: after.latencyMs, attacker: during.attacker })}\n`);
  }
} finally {
  if (failed) process.stderr.write(`${neighbours.stack.logs().slice(-2000)}\n`);
  await neighbours.close();
  await postgres.stop();
}
process.exitCode = failed ? 1 : 0;
