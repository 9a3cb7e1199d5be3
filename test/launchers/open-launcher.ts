import type { Launcher } from './launcher.ts';

const LAUNCHERS = ['binaries', 'containers'] as const;
export type LauncherName = (typeof LAUNCHERS)[number];

/**
 * The value of TEST_LAUNCHER, which vitest.config.ts sets for a whole run. Default: binaries, which
 * `npm run bench` uses.
 */
export function launcherName(): LauncherName {
  const name = process.env.TEST_LAUNCHER ?? 'binaries';
  const known = LAUNCHERS.find((launcher) => launcher === name);
  if (known === undefined) throw new Error(`TEST_LAUNCHER is ${name}, and can be ${LAUNCHERS.join(' or ')}`);
  return known;
}

/** For measurements, which must compare the same kind of processes on every machine. */
export function keepToBinaries(): void {
  process.env.TEST_LAUNCHER = 'binaries';
}

/** Imports only the launcher in use, so that test files do not load the other one's packages. */
export async function openLauncher(): Promise<Launcher> {
  if (launcherName() === 'containers') return (await import('./containers.ts')).containers;
  return (await import('./binaries.ts')).binaries;
}
