import { fstatSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimePaths } from '../core/config/runtime-paths.ts';

const STDOUT = 1;
const STDERR = 2;

/**
 * True where the output goes into systemd's journal, which keeps and ships it: systemd.exec(5)
 * gives device and inode of that stream in JOURNAL_STREAM, for one of the two outputs where they
 * differ, and a process further down may have been given others.
 */
export function isJournaled(env: Readonly<Record<string, string | undefined>>): boolean {
  return [STDOUT, STDERR].some((descriptor) => {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return env.JOURNAL_STREAM === `${dev}:${ino}`;
  });
}

/** For its owner alone, and to be removed by him. Throws where it cannot be written. */
export function keepFirstSignIn({ dataDir }: Pick<RuntimePaths, 'dataDir'>, text: string): string {
  const path = join(dataDir, 'first-sign-in');
  // One of a former start keeps its mode when it is written again.
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}
