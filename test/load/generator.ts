/**
 * A load generator in a process of its own, so that its CPU time is not counted with what it
 * measures. Jobs and results are sent over IPC.
 */
import type { LoadJob } from './load-job.ts';
import { runLoad } from './run-load.ts';

process.on('message', (job: LoadJob) => {
  runLoad(job).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`load generator: ${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ type: 'listening' });
