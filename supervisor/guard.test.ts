import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { endFormerChildren } from './former-children.ts';
import { endAll, identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';

interface Owner {
  readonly process: ChildProcess;
  readonly polite: ProcessIdentity;
  readonly stubborn: ProcessIdentity;
  readonly forgotten: ProcessIdentity;
  readonly guard: ProcessIdentity;
  readonly recordPath: string;
}

const owners: Owner[] = [];

afterEach(async () => {
  for (const { process: owner, polite, stubborn, forgotten, guard } of owners.splice(0)) {
    owner.kill('SIGKILL');
    await endAll([polite, stubborn, forgotten, guard], 'SIGKILL', 2_000);
  }
});

async function startOwner(): Promise<Owner> {
  const recordPath = join(mkdtempSync(join(tmpdir(), 'guard ')), 'children');
  const owner = fork(fileURLToPath(new URL('testing/guard-owner.ts', import.meta.url)), [recordPath]);
  const said = await new Promise<Record<'polite' | 'stubborn' | 'forgotten' | 'guard', number>>((resolve) =>
    owner.once('message', (message) => resolve(message as never)),
  );
  const started = {
    process: owner,
    polite: identityOf(said.polite),
    stubborn: identityOf(said.stubborn),
    forgotten: identityOf(said.forgotten),
    guard: identityOf(said.guard),
    recordPath,
  };
  owners.push(started);
  // The guard reads its orders from a pipe.
  await sleep(100);
  return started;
}

/** Without being ended it lives for a minute. */
async function expectGone(one: ProcessIdentity): Promise<void> {
  await expect.poll(() => isAlive(one)).toBe(false);
}

async function guardOf(owner: ChildProcess): Promise<number> {
  owner.send('guard?');
  const said = await new Promise<{ guard: number }>((resolve) => owner.once('message', (m) => resolve(m as never)));
  return said.guard;
}

test('when its owner is killed, the guard ends the children, politely and then by force', async () => {
  const owner = await startOwner();
  owner.process.kill('SIGKILL');
  await expectGone(owner.polite);
  await expectGone(owner.stubborn);
  await expectGone(owner.guard);
  expect(isAlive(owner.forgotten)).toBe(true);
});

test('polite signals do not end the guard, and a killed one is replaced', async () => {
  const owner = await startOwner();
  process.kill(owner.guard.pid, 'SIGTERM');
  process.kill(owner.guard.pid, 'SIGINT');
  await sleep(100);
  expect(isAlive(owner.guard)).toBe(true);
  process.kill(owner.guard.pid, 'SIGKILL');
  await expect.poll(() => guardOf(owner.process)).not.toBe(owner.guard.pid);
  owner.process.kill('SIGKILL');
  await expectGone(owner.polite);
  await expectGone(owner.stubborn);
});

test('when owner and guard are both killed, the next start ends what they left', async () => {
  const owner = await startOwner();
  // It must not replace the guard meanwhile.
  owner.process.kill('SIGSTOP');
  process.kill(owner.guard.pid, 'SIGKILL');
  owner.process.kill('SIGKILL');
  await sleep(100);
  expect(isAlive(owner.polite)).toBe(true);
  await endFormerChildren(owner.recordPath, 300);
  expect(isAlive(owner.polite)).toBe(false);
  expect(isAlive(owner.stubborn)).toBe(false);
  expect(isAlive(owner.forgotten)).toBe(true);
});
