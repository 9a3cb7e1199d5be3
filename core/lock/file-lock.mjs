import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';

// Locks of processes: charge logs, data folders, set-up. Plain JavaScript, because set-up runs
// before anything is installed.
//
// The kernel keeps the lock with the open file and drops it with the process, however the process
// ends. So a lock is never stale, contains no process id, and holds between containers that share a
// volume. Node has no call for it. But the lock belongs to the open file and not to the process
// that requested it: a program gets the descriptor of this process, takes the lock, and ends.

/** Exit status of a program that did not get the lock. */
const TAKEN = 1;

/** Descriptor of the file in these programs. */
const DESCRIPTOR = 3;

/** Perl is part of macOS, which has no `flock` program. The system call is the same. */
const PERL = `use Fcntl ":flock"; open(my $file, $ARGV[1] eq "shared" ? "<&=" : ">>&=", ${DESCRIPTOR}) or die "$!\\n";
  $SIG{ALRM} = sub { exit ${TAKEN} }; alarm $ARGV[0];
  flock($file, ($ARGV[1] eq "shared" ? LOCK_SH : LOCK_EX) | ($ARGV[0] ? 0 : LOCK_NB)) or do { exit ${TAKEN} if $!{EWOULDBLOCK}; die "$!\\n" }`;

export async function lockFile(path, waitSeconds) {
  // A FileHandle would be closed by the garbage collector once nothing refers to the lock.
  const descriptor = openSync(path, 'a', 0o600);
  let taken = false;
  try {
    taken = await take('exclusive', waitSeconds, descriptor);
  } catch (error) {
    throw new Error(`${path} cannot be locked: ${error.message}`, { cause: error });
  } finally {
    if (!taken) closeSync(descriptor);
  }
  return taken ? { release: () => closeSync(descriptor) } : undefined;
}

// Tries the shared lock, which needs no right to write.
export async function isLocked(path) {
  if (!existsSync(path)) return false;
  const descriptor = openSync(path, 'r');
  try {
    return !(await take('shared', 0, descriptor));
  } catch (error) {
    throw new Error(`the lock of ${path} cannot be read: ${error.message}`, { cause: error });
  } finally {
    closeSync(descriptor);
  }
}

async function take(kind, waitSeconds, descriptor) {
  const wait = waitSeconds === 0 ? ['--nonblock'] : ['--timeout', String(waitSeconds)];
  const taken =
    (await run('flock', [`--${kind}`, ...wait, String(DESCRIPTOR)], descriptor)) ??
    (await run('perl', ['-e', PERL, String(waitSeconds), kind], descriptor));
  if (taken === undefined) throw new Error('neither flock (util-linux) nor perl is installed');
  return taken;
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
