/** A process that guards two children until it is killed: guard.test.ts kills it. Says `{children, guard}` over IPC. */
import { spawn } from 'node:child_process';
import { startGuard } from '../guard.ts';

const guard = startGuard(process.argv[2]);
const polite = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
const stubborn = spawn('sh', ['-c', 'trap "" INT TERM; while :; do sleep 0.05; done'], {
  detached: true,
  stdio: 'ignore',
});
const forgotten = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
for (const child of [polite, stubborn, forgotten]) if (child.pid !== undefined) guard.watch(child.pid, 'TERM', 1);
if (forgotten.pid !== undefined) guard.forget(forgotten.pid);

process.on('message', () => process.send?.({ guard: guard.pid() }));
process.send?.({ polite: polite.pid, stubborn: stubborn.pid, forgotten: forgotten.pid, guard: guard.pid() });
