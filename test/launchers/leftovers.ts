import { spawn, spawnSync } from 'node:child_process';
import type { Socket } from 'node:net';
import { identityOf, isAlive } from './process-identity.ts';

/** On every container of a test: the process that started it, and when that began. */
const LABEL = 'inference-gateway.test-owner';
const DOCKER_TIMEOUT_MS = 60_000;

/** Outlives us by a moment: its input ends when we do, however that comes about. */
const GUARD = `cat; docker ps -aq --filter "label=${LABEL}=$1" | xargs -r docker rm -fv`;
let guarded: Readonly<Record<string, string>> | undefined;

/**
 * Labels for containers that are removed when this process ends, also when it is killed or a test
 * did not close what it opened.
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

/** Takes away what former runs left whose guards ended with them. */
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
 * Output of a docker command. Another run may remove the same object at this moment, so an error is
 * ignored.
 */
function docker(...args: readonly string[]): string {
  return spawnSync('docker', args, { encoding: 'utf8', timeout: DOCKER_TIMEOUT_MS }).stdout ?? '';
}
