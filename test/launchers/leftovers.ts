import { spawn, spawnSync } from 'node:child_process';
import type { Socket } from 'node:net';
import { identityOf, isAlive } from './process-identity.ts';

/** Label on every container of a test: pid and start time of the process that started it. */
const LABEL = 'inference-gateway.test-owner';
const DOCKER_TIMEOUT_MS = 60_000;

/** Runs until its standard input closes, which happens however this process ends. */
const GUARD = `cat; docker ps -aq --filter "label=${LABEL}=$1" | xargs -r docker rm -fv`;
let guarded: Readonly<Record<string, string>> | undefined;

/**
 * Returns labels for containers. Containers with them are removed when this process ends, also if
 * it is killed or a test leaks them.
 */
export function removeWhenWeEnd(): Readonly<Record<string, string>> {
  if (guarded === undefined) {
    const { pid, started } = identityOf(process.pid);
    const owner = `${pid}-${started}`;
    const guard = spawn('sh', ['-c', GUARD, 'sh', owner], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    guard.unref();
    (guard.stdin as Socket).unref();
    guarded = { [LABEL]: owner };
  }
  return guarded;
}

/** Removes containers of former runs whose guard processes were killed too. */
export function removeLeftovers(): void {
  const format = `{{.ID}} {{.Label "${LABEL}"}}`;
  const listed = docker('ps', '-a', '--filter', `label=${LABEL}`, '--format', format).trim();
  const leftovers = listed.split('\n').flatMap((line) => {
    const [, id, pid, started] = /^(\w+) (\d+)-(\d+)$/.exec(line) ?? [];
    return id !== undefined && started !== undefined && !isAlive({ pid: Number(pid), started }) ? [id] : [];
  });
  if (leftovers.length > 0) docker('rm', '-fv', ...leftovers);
}

/**
 * Runs a docker command and returns its output. Errors are ignored, because another run may remove
 * the same container at this moment.
 */
function docker(...args: readonly string[]): string {
  return spawnSync('docker', args, { encoding: 'utf8', timeout: DOCKER_TIMEOUT_MS }).stdout ?? '';
}
