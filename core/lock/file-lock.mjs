import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';

// Locks of processes: spools, data folders, set-up. Plain JavaScript, because set-up runs before
// anything is installed.
//
// The kernel keeps the lock with the open file and drops it with the process, however the process
// ends. So a lock is never stale, contains no process id, and holds between containers that share a
// volume. Node has no call for it. But the lock belongs to the open file and not to the process
// that asked for it: a program gets the descriptor of this process, takes the lock, and ends.

/** Exit status of a program that did not get the lock. */
const TAKEN = 1;

/** Descriptor of the file in these programs. */
const DESCRIPTOR = 3;

/** Perl is part of macOS, which has no `flock` program; the call is the same. */
const PERL = `use Fcntl ":flock"; open(my $file, ">>&=", ${DESCRIPTOR}) or die "$!\\n";
  $SIG{ALRM} = sub { exit ${TAKEN} }; alarm $ARGV[0];
  flock($file, LOCK_EX | ($ARGV[0] ? 0 : LOCK_NB)) or do { exit ${TAKEN} if $!{EWOULDBLOCK}; die "$!\\n" }`;

export async function lockFile(path, waitSeconds) {
  // A FileHandle would be closed by the garbage collector once nothing refers to the lock.
  const descriptor = openSync(path, 'a', 0o600);
  let taken = false;
  try {
    taken = (await byFlock(descriptor, waitSeconds)) ?? (await byPerl(descriptor, waitSeconds)) ?? fail();
  } catch (error) {
    throw new Error(`${path} cannot be locked: ${error.message}`, { cause: error });
  } finally {
    if (!taken) closeSync(descriptor);
  }
  return taken ? { release: () => closeSync(descriptor) } : undefined;
}

function byFlock(descriptor, waitSeconds) {
  const wait = waitSeconds === 0 ? ['--nonblock'] : ['--timeout', String(waitSeconds)];
  return run('flock', ['--exclusive', ...wait, String(DESCRIPTOR)], descriptor);
}

function byPerl(descriptor, waitSeconds) {
  return run('perl', ['-e', PERL, String(waitSeconds)], descriptor);
}

function fail() {
  throw new Error('neither flock (util-linux) nor perl is installed');
}

/** True if the program took the lock, `undefined` if there is no such program. */
async function run(program, args, descriptor) {
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
  });
  try {
    const said = child.stderr ? text(child.stderr) : '';
    const [message, [status]] = await Promise.all([said, once(child, 'close')]);
    if (status !== 0 && status !== TAKEN) throw new Error(message.trim() || `${program} ended with status ${status}`);
    return status === 0;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
