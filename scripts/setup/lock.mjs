import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_WAIT_MS = 20 * 60_000;
const POLL_MS = 200;

/**
 * Runs `work` while no other set-up of this folder runs; two at once (two terminals, a test beside a start) wait for each other. The lock
 * is a file that names its owner, and a dead owner's lock is taken over.
 */
export async function withLock(path, say, work) {
  const own = `${process.pid} ${startOf(process.pid)}`;
  const draft = `${path}.${process.pid}`;
  const deadline = Date.now() + LONGEST_WAIT_MS;
  writeFileSync(draft, own);
  try {
    let said = false;
    while (!take(draft, path)) {
      const owner = readOwner(path);
      if (owner !== undefined && !isAlive(owner)) {
        discard(path, draft, owner);
        continue;
      }
      if (Date.now() > deadline)
        return `Another set-up (process ${owner}) does not end; remove ${path} if it is not running.`;
      if (!said) say('Another set-up is running, waiting for it …');
      said = true;
      await sleep(POLL_MS);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  const release = () => rmSync(path, { force: true });
  const onSignal = (signal) => {
    release();
    process.kill(process.pid, signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, onSignal);
  try {
    return await work();
  } finally {
    release();
  }
}

/** A link appears whole and fails when the name exists: creation and content in one step. */
function take(draft, path) {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Two may find the same dead owner: whoever moved away a lock that is not the dead one's puts it back. */
function discard(path, draft, deadOwner) {
  const aside = `${draft}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readOwner(aside) !== deadOwner) take(aside, path);
  rmSync(aside, { force: true });
}

function readOwner(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function isAlive(owner) {
  const [pid, started] = owner.split(' ');
  const now = startOf(Number(pid));
  if (now !== '-' || started !== '-') return now === started;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Process ids are reused; with its start time (field 22 of /proc/PID/stat) one is unmistakable. */
function startOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '-';
  }
}
