import { fstatSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';

const STDOUT = 1;
const STDERR = 2;

/**
 * True if the output goes into systemd's journal, which stores and ships it. JOURNAL_STREAM has
 * device and inode of that stream (systemd.exec(5)), for one of the two outputs if they differ. It
 * is inherited, so the outputs of this process may be others.
 */
export function isJournaled(env: Readonly<Record<string, string | undefined>>): boolean {
  return [STDOUT, STDERR].some((descriptor) => {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return env.JOURNAL_STREAM === `${dev}:${ino}`;
  });
}

/** Writes a file that only its owner can read. Throws if it cannot be written. */
export function keepFirstSignIn({ dataDir }: Pick<RuntimePaths, 'dataDir'>, text: string): string {
  const path = join(dataDir, 'first-sign-in');
  // An existing file would keep its mode.
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}
