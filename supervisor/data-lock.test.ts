import { fork, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { takeDataLock } from './data-lock.ts';
import { identityOf } from './process-identity.ts';

function lockPath(): string {
  return join(mkdtempSync(join(tmpdir(), 'data lock ')), 'supervisor.lock');
}

test('the second is told who has it, and gets it after the release', () => {
  const path = lockPath();
  const lock = takeDataLock(path);
  expect(takeDataLock(path)).toEqual({ lockedBy: identityOf(process.pid) });
  if ('lockedBy' in lock) throw new Error('the first was refused');
  lock.release();
  expect(takeDataLock(path)).toHaveProperty('release');
  expect(readdirSync(join(path, '..'))).toEqual(['supervisor.lock']);
});

test.each([
  ['a dead process', `${spawnSync('true').pid} 12345\n`],
  ['a process whose id was used again', `${process.pid} 1\n`],
  ['a crash of the machine in the middle of writing', ''],
])('the lock of %s counts for nothing', (_whose, content) => {
  const path = lockPath();
  writeFileSync(path, content);
  expect(takeDataLock(path)).toHaveProperty('release');
});

test('of several that find a dead lock at once exactly one gets it', async () => {
  const path = lockPath();
  writeFileSync(path, `${spawnSync('true').pid} 12345\n`);
  const script = fileURLToPath(new URL('testing/lock-taker.ts', import.meta.url));
  const takers = Array.from({ length: 4 }, () => fork(script, [path, String(Date.now() + 700)]));
  const said = await Promise.all(takers.map((taker) => new Promise((resolve) => taker.once('message', resolve))));
  for (const taker of takers) taker.disconnect();
  expect(said.filter((word) => word === 'taken')).toHaveLength(1);
});
