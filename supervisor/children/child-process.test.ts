import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { findSetprivProblem } from './child-process.ts';

const owners: ChildProcess[] = [];
const children: number[] = [];

afterEach(() => {
  for (const owner of owners.splice(0)) owner.kill('SIGKILL');
  for (const pid of children.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

/** A process that has one child by `endingWithUs`, under that user. */
async function startOwner(signal: string, uid = ''): Promise<{ owner: ChildProcess; child: number }> {
  const owner = fork(fileURLToPath(new URL('./child-owner.fixture.ts', import.meta.url)), [signal, uid]);
  owners.push(owner);
  const child = await new Promise<number>((resolve) => owner.once('message', (pid) => resolve(pid as number)));
  children.push(child);
  // The child is `setpriv` for a moment, and then a shell that does not ignore signals yet.
  await expect.poll(() => ignoresInterrupts(child)).toBe(true);
  return { owner, child };
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

function ignoresInterrupts(pid: number): boolean {
  const ignored = /^SigIgn:\t([0-9a-f]+)$/m.exec(statusOf(pid))?.[1] ?? '0';
  return (BigInt(`0x${ignored}`) & 0b10n) !== 0n;
}

/** A zombie holds nothing any more. */
function isAlive(pid: number): boolean {
  return /^State:\t[^Z]/m.test(statusOf(pid));
}

test('ends a child that ignores polite signals when its owner is killed', async () => {
  const { owner, child } = await startOwner('KILL');
  owner.kill('SIGKILL');
  await expect.poll(() => isAlive(child)).toBe(false);
});

test('sends the requested signal', async () => {
  const { owner, child } = await startOwner('INT');
  owner.kill('SIGKILL');
  await new Promise((resolve) => owner.once('exit', resolve));
  // The child ignores it.
  expect(isAlive(child)).toBe(true);
});

test.skipIf(process.getuid?.() !== 0)('as another user the child has that user and one capability', async () => {
  const { owner, child } = await startOwner('KILL', '65534');
  expect(statusOf(child)).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
  expect(statusOf(child)).toMatch(/^CapEff:\t0{15}4$/m);
  owner.kill('SIGKILL');
  await expect.poll(() => isAlive(child)).toBe(false);
});

test('explains that a machine lacks setpriv', () => {
  expect(findSetprivProblem()).toBeUndefined();
  const path = process.env.PATH;
  process.env.PATH = '/nowhere';
  try {
    expect(findSetprivProblem()).toContain('setpriv of util-linux 2.33 or newer is needed');
  } finally {
    process.env.PATH = path;
  }
});
