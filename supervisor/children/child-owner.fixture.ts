/** Owns a child until child-process.test.ts kills it. Arguments: signal, user id. Sends its pid. */
import { spawn } from 'node:child_process';
import { endingWithUs } from './child-process.ts';

const [signal, uid] = process.argv.slice(2);
const user = uid ? { uid: Number(uid), searchesAll: true } : undefined;
const script = 'trap "" INT TERM HUP; while :; do sleep 1; done';
const command = endingWithUs(signal === 'INT' ? 'INT' : 'KILL', '/bin/sh', ['-c', script], user);

const child = spawn(command.file, command.args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
process.send?.(child.pid);
process.on('message', () => {});
