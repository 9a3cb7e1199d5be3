import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { startProcess } from './child-process.ts';
import { freePorts } from './free-ports.ts';
import { imageOf } from './images.ts';
import { removeLeftovers, removeWhenWeEnd } from './leftovers.ts';
import { identityOf, isAlive } from './process-identity.ts';

/** Tight on purpose: this test is part of every run with containers. */
const SOON = { timeout: 20_000 };
const docker = (...args: readonly string[]): string => execFileSync('docker', args, { encoding: 'utf8' }).trim();
const exists = (id: string): boolean => docker('ps', '-aq', '--no-trunc').split('\n').includes(id);

test('a container is removed when the process that started it ends, even by SIGKILL', async () => {
  const [port] = await freePorts(1);
  const launcher = pathToFileURL(join(import.meta.dirname, 'containers.ts'));
  const script = `
    const { containers } = await import('${launcher}');
    process.stdout.write('runs as ' + (await containers.startRedis(${port}, [])).pid);
    setInterval(() => {}, 1000);`;
  const owner = startProcess(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await expect.poll(owner.output, SOON).toMatch(/runs as \d+$/);
  const server = identityOf(Number(/runs as (\d+)/.exec(owner.output())?.[1]));
  expect(isAlive(server)).toBe(true);
  await owner.end('SIGKILL');
  await expect.poll(() => isAlive(server), SOON).toBe(false);
});

test('containers of a dead run are removed, those of a live one are kept', () => {
  const create = (label: string): string => docker('create', '--label', label, imageOf('REDIS_IMAGE'));
  const [ours] = Object.entries(removeWhenWeEnd()).map(([name, value]) => create(`${name}=${value}`));
  // Process 1 exists, but its start time is not 0.
  const [left] = Object.keys(removeWhenWeEnd()).map((name) => create(`${name}=1-0`));
  removeLeftovers();
  expect([exists(String(ours)), exists(String(left))]).toEqual([true, false]);
  docker('rm', String(ours));
});
