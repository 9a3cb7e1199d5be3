import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimePaths } from '../core/config/runtime-paths.ts';
import { endAll, type ProcessIdentity } from './process-identity.ts';

/** Where the guard writes down what it watches. */
export function childRecord(paths: Pick<RuntimePaths, 'socketDir'>): string {
  return join(paths.socketDir, 'children');
}

/**
 * Ends what a former supervisor left running when it and its guard were both killed. The guard keeps the record; the caller holds the
 * data folder's lock, so nobody else's children are in it.
 */
export async function endFormerChildren(recordPath: string, politeMs = 5_000): Promise<void> {
  const children = readRecord(recordPath).reverse();
  // One after the other and the youngest first, as in an orderly end.
  for (const { child, signal } of children) {
    if (!(await endAll([child], signal, politeMs))) await endAll([child], 'SIGKILL', 2_000);
  }
  rmSync(recordPath, { force: true });
}

function readRecord(path: string): { child: ProcessIdentity; signal: 'SIGTERM' | 'SIGINT' }[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  return [...text.matchAll(/^watch (\d+) (\S+) (TERM|INT) /gm)].map(([, pid, started = '', signal]) => ({
    child: { pid: Number(pid), started },
    signal: signal === 'INT' ? 'SIGINT' : 'SIGTERM',
  }));
}
