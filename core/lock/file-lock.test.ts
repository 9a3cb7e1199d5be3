import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '#test/harness/requirement.ts';
import { isLocked, lockFile } from './file-lock.mjs';

const PROGRAMS = ['flock', 'perl'].map((name) => ({ name, path: installed(name) }));

function installed(name: string): string | undefined {
  const paths = (process.env.PATH ?? '').split(':').map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Another process, which takes the lock, says so, collects its garbage, and then does nothing. */
const OWNER = `
  const { lockFile } = await import(${JSON.stringify(new URL('./file-lock.mjs', import.meta.url).href)});
  await lockFile(process.argv[1], 0);
  gc();
  process.stdout.write('locked');
  setInterval(gc, 100);`;

describe('the lock of a file', () => {
  let folder = '';
  let path = '';
  const { PATH } = process.env;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file locks '));
    path = join(folder, 'a.lock');
  });
  afterEach(() => {
    process.env.PATH = PATH;
    rmSync(folder, { recursive: true });
  });

  /** From now on this process finds only the one program. */
  function only(name: string, program: string): void {
    symlinkSync(program, join(folder, name));
    process.env.PATH = folder;
  }

  for (const { name, path: program } of PROGRAMS) {
    requirement(program === undefined ? `the program ${name}` : undefined, () => {
      it(`is had by one process at a time and ends with that process, by ${name}`, async () => {
        const args = ['--expose-gc', '--input-type=module', '-e', OWNER, path];
        const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        await once(owner.stdout, 'data');
        only(name, program ?? '');
        expect(await lockFile(path, 0)).toBeUndefined();
        expect(await lockFile(path, 1)).toBeUndefined();
        expect(await isLocked(path)).toBe(true);
        const next = lockFile(path, 60);
        const ended = once(owner, 'exit');
        owner.kill('SIGKILL');
        await ended;
        const lock = await next;
        expect(await lockFile(path, 0)).toBeUndefined();
        lock?.release();
        expect(await isLocked(path)).toBe(false);
        const again = await lockFile(path, 0);
        expect(again).toBeDefined();
        again?.release();
      });
    });
  }

  it('of a missing file is free, and asking creates nothing', async () => {
    expect(await isLocked(path)).toBe(false);
    expect(existsSync(path)).toBe(false);
  });

  it('names the file that cannot be locked, and the reason', async () => {
    process.env.PATH = '/nowhere';
    await expect(lockFile(path, 0)).rejects.toThrow(/a\.lock cannot be locked: neither flock .* nor perl/);
    writeFileSync(path, '');
    await expect(isLocked(path)).rejects.toThrow(/the lock of .*a\.lock cannot be read: neither flock .* nor perl/);
  });
});
