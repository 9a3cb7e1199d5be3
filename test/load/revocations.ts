/**
 * Changes keys under load: `node test/load/revocations.ts --changes 10000 --rate 200 --freeze-every
 * 10`. Exits with 1 if a request that started after a change had an outcome of before it.
 */
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { percentiles } from './load-job.ts';
import { runRevocations } from './revocation-run.ts';
import { staleAnswers } from './revocation-verdict.ts';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '200' },
    'freeze-every': { type: 'string', default: '10' },
  },
});
const postgres = await startTestPostgres();
try {
  const began = performance.now();
  const { asked, phases, changeMs, freezes } = await runRevocations({
    postgresSocketDir: postgres.socketDir,
    changes: Number(values.changes),
    requestsPerSecond: Number(values.rate),
    freezeEveryMs: Number(values['freeze-every']) * 1000,
  });
  const outcomes = Map.groupBy(asked, ({ outcome }) => outcome);
  const counts = Object.fromEntries([...outcomes].map(([outcome, all]) => [outcome, all.length]));
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(
    `${JSON.stringify({ seconds, phases: phases.length, freezes, requests: asked.length, counts })}\n`,
  );
  process.stdout.write(`commands took ms ${JSON.stringify(percentiles(changeMs))}\n`);
  process.stdout.write(`judged as if commands had answered 1 s earlier: ${staleAnswers(asked, phases, 1000).length}\n`);
  const stale = staleAnswers(asked, phases);
  process.stdout.write(stale.length === 0 ? 'no request was answered as before a change\n' : `${stale.join('\n')}\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} finally {
  await postgres.stop();
}
