import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { addCustomer, BY, lockWaits } from '../harness/database.ts';
import { COMPILE_CACHE } from '../harness/deployment.ts';
import { withStore } from '../harness/with-store.ts';
import { startLostAnswerProxy } from './lost-answer-proxy.ts';

const db = withStore();
const MAIN = resolve(import.meta.dirname, '../../operator/main.ts');

const run = (databaseUrl: string, ...args: string[]) => runCommandLine(args, { DATABASE_URL: databaseUrl });
const balanceOf = async (organizationId: string) => (await db.store.ledger.credits(organizationId)).balanceNanoUsd;

it('a credit whose reply was lost is booked once when it is repeated with the printed reference', async () => {
  const { organizationId } = await addCustomer(db.store, 0n);
  const proxy = await startLostAnswerProxy(db.url);
  const failed = await run(proxy.url, 'org', 'credit', organizationId, '5');
  expect([failed.kind, proxy.lost()]).toEqual(['refused', 1]);
  if (failed.kind !== 'refused') throw new Error('it was to fail');
  const { reference } = failed.json as { reference: string };
  expect(failed.message).toContain(`--reference ${reference}`);
  expect(await balanceOf(organizationId)).toBe(5_000_000_000n);
  proxy.mend();
  const repeated = await run(proxy.url, 'org', 'credit', organizationId, '5', '--reference', reference);
  expect(repeated).toMatchObject({ kind: 'done', json: { balance: 5, applied: false, reference } });
  expect(await balanceOf(organizationId)).toBe(5_000_000_000n);
  await proxy.close();
});

it('an organization whose creation with credit lost its reply is named when it is repeated with the reference', async () => {
  const proxy = await startLostAnswerProxy(db.url);
  const failed = await run(proxy.url, 'org', 'create', '--name', 'Lost', '--credit', '7');
  if (failed.kind !== 'refused') throw new Error('it was to fail');
  const { reference } = failed.json as { reference: string };
  proxy.mend();
  const repeated = await run(proxy.url, 'org', 'create', '--name', 'Lost', '--credit', '7', '--reference', reference);
  const all = (await db.store.administration.organizations()).filter(({ name }) => name === 'Lost');
  expect(all.map(({ balanceNanoUsd }) => balanceNanoUsd)).toEqual([7_000_000_000n]);
  expect(repeated).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(`${all[0]?.id}. Nothing was added`),
  });
  await proxy.close();
});

it('a reference is booked for one organization, also when two use it at once', async () => {
  const [one, other] = [await addCustomer(db.store, 0n), await addCustomer(db.store, 0n)];
  const entry = { amountNanoUsd: 3n, reference: newId('crd', Date.now()) };
  const results = await Promise.all(
    [one, other].map(({ organizationId }) => db.store.administration.credit(organizationId, entry, BY)),
  );
  const winner = results[0]?.kind === 'applied' ? one : other;
  const { organizationId } = winner;
  expect(results).toContainEqual({ kind: 'applied', balanceNanoUsd: 3n });
  expect(results).toContainEqual({ kind: 'reference_elsewhere', organizationId });
  expect((await balanceOf(one.organizationId)) + (await balanceOf(other.organizationId))).toBe(3n);
  const loser = winner === one ? other : one;
  expect(await run(db.url, 'org', 'credit', loser.organizationId, '1', '--reference', entry.reference)).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(`was booked for the organization ${organizationId}.`),
  });
});

describe('as a process', () => {
  function credit(organizationId: string, stdout: 'pipe' | number) {
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, DATABASE_URL: db.url };
    const args = [MAIN, 'org', 'credit', organizationId, '5', '--json'];
    const command = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'pipe'], env });
    const read = async (stream: Readable | null) => (stream ? await text(stream) : '');
    return { command, ended: Promise.all([read(command.stdout), read(command.stderr), once(command, 'exit')]) };
  }

  it('the answer is on standard error if standard output cannot be written', async () => {
    const { organizationId } = await addCustomer(db.store, 0n);
    const full = await open('/dev/full', 'w');
    const [, stderr, [status]] = await credit(organizationId, full.fd).ended;
    await full.close();
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^The command has ended.*\(ENOSPC\):\n\{.*"crd-/)]);
    expect(await balanceOf(organizationId)).toBe(5_000_000_000n);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s waits for the answer', async (signal) => {
    const { organizationId } = await addCustomer(db.store, 0n);
    const lock = new pg.Client(db.url);
    await lock.connect();
    await lock.query('begin');
    await lock.query('select 1 from accounts where organization_id = $1 for update', [organizationId]);
    const { command, ended } = credit(organizationId, 'pipe');
    await expect.poll(() => lockWaits(db.url)).toBeGreaterThan(0);
    command.kill(signal);
    await sleep(100);
    await lock.query('commit');
    await lock.end();
    const [stdout, , [status]] = await ended;
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      { balance: 5, reference: expect.stringMatching(/^crd-/), applied: true },
    ]);
  });
});
