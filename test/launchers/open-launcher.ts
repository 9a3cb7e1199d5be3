import type { Launcher } from './launcher.ts';

const LAUNCHERS = ['binaries', 'containers'] as const;
export type LauncherName = (typeof LAUNCHERS)[number];

/**
 * The value of TEST_LAUNCHER, which vitest.config.ts sets for a whole run. Default: binaries, as in
 * `npm run bench`.
 */
export function launcherName(): LauncherName {
  const name = process.env.TEST_LAUNCHER ?? 'binaries';
  const known = LAUNCHERS.find((launcher) => launcher === name);
  if (known === undefined) throw new Error(`TEST_LAUNCHER is ${name}, and can be ${LAUNCHERS.join(' or ')}`);
  return known;
}

/**
 * For what measures: its processes, and those that it compares them with, are of the same kind on
 * every machine.
 */
export function keepToBinaries(): void {
  process.env.TEST_LAUNCHER = 'binaries';
}

/**
 * Loads the one that is used: the other has packages of its own, which every test file would load
 * again.
 */
export async function openLauncher(): Promise<Launcher> {
  if (launcherName() === 'containers') return (await import('./containers.ts')).containers;
  return (await import('./binaries.ts')).binaries;
}
