/**
 * Runs docker-compose.yml under load while containers are cut off, paused, killed and redirected to
 * a promoted Redis in turn: `node test/load/nemesis.ts --minutes 30 --rate 12 --pause 5 [--logs
 * FILE]`. Exits with 1 if a promise about money was broken (test/README.md).
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { missingCompose } from '../deploy/compose.ts';
import { runNemesis } from './nemesis-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '12' },
    pause: { type: 'string', default: '5' },
    logs: { type: 'string' },
  },
});
const missing = missingCompose();
if (missing !== undefined) {
  process.stderr.write(`needs: ${missing}\n`);
  process.exit(2);
}
const early = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => early.abort());
process.stdout.write('building and starting the containers\n');
let startedMs = 0;
const { wrong, figures, reconciled, accidents, canSetRedisClock, logs } = await runNemesis({
  durationMs: Number(values.minutes) * 60_000,
  requestsPerSecond: Number(values.rate),
  pauseMs: Number(values.pause) * 1000,
  signal: early.signal,
  onAccident: (name, requests) => {
    startedMs ||= performance.now();
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    process.stdout.write(`${seconds} s, ${requests} requests: ${name}\n`);
  },
});
if (values.logs !== undefined) writeFileSync(values.logs, logs);
if (!canSetRedisClock) process.stdout.write("no steps of Redis's clock: there is no C compiler (cc)\n");
process.stdout.write(`${accidents} accidents: ${JSON.stringify(figures)}\nreconciled: ${JSON.stringify(reconciled)}\n`);
process.stdout.write(wrong.length === 0 ? 'every promise was kept\n' : `${wrong.join('\n')}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
