/**
 * The attacker. It is a process of its own, so that it does not delay the requests that are
 * measured.
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
  // Requests that are still in flight by then are ignored.
  setTimeout(end, job.forMs + 3_000);
});
process.on('disconnect', () => process.exit(0));
process.send?.({ type: 'ready' });
