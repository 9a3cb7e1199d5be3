/**
 * The attacker, in a process of its own, so that its work does not delay the requests whose latency
 * is measured.
 */
import { ATTACKS } from './neighbour-attacks.ts';
import type { AttackJob } from './neighbour-job.ts';

process.once('message', (job: AttackJob) => {
  const seen: Record<string, number> = {};
  const note = (outcome: string): void => {
    seen[outcome] = (seen[outcome] ?? 0) + 1;
  };
  const end = (): void => void process.send?.(seen, () => process.exit(0));
  ATTACKS[job.attack](job, note).then(end, (error: unknown) => {
    process.stderr.write(`${job.attack}: ${String(error)}\n`);
    process.exit(1);
  });
  // Requests that still wait then are of no interest.
  setTimeout(end, job.forMs + 3_000);
});
process.on('disconnect', () => process.exit(0));
process.send?.({ type: 'ready' });
