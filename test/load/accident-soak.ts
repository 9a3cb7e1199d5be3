/**
 * Kills each process and store in turn under load: `node test/load/accident-soak.ts --minutes 30
 * --rate 50 --every 20`. Exits with 1 if a complete response was not charged exactly once, a cut
 * stream was charged for less than its client received or more than the provider produced, a
 * balance was negative, or ledger and invoice disagree.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runAccidents } from './accident-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '50' },
    every: { type: 'string', default: '20' },
    logs: { type: 'string' },
  },
});
const startedAt = performance.now();
const { wrong, figures, reconciled } = await runAccidents({
  durationMs: Number(values.minutes) * 60_000,
  requestsPerSecond: Number(values.rate),
  everyMs: Number(values.every) * 1000,
  onAccident: (name, requests) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${seconds} s, ${requests} requests: ${name}\n`);
  },
  onLogs: (logs) => {
    if (values.logs !== undefined) writeFileSync(values.logs, logs);
  },
});
process.stdout.write(`${JSON.stringify(figures)}\nreconciled: ${JSON.stringify(reconciled)}\n`);
process.stdout.write(wrong.length === 0 ? 'every promise was kept\n' : `${wrong.join('\n')}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
