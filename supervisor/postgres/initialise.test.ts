import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { initialisePostgres } from './initialise.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-init-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that writes down how it was called. */
function standIn(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho "${name} $*" >> '${folder}/calls'\n`);
  chmodSync(path, 0o755);
  return path;
}

test('syncs everything, at the very end', async () => {
  const install = { initdb: standIn('initdb'), postgres: standIn('postgres') };
  mkdirSync(join(folder, 'data'));
  await initialisePostgres(join(folder, 'data/postgres'), install, undefined);
  const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
  const target = join(folder, `data/postgres.new-${process.pid}`);
  expect(calls).toHaveLength(3);
  expect(calls.at(-1)).toBe(`initdb --sync-only --pgdata=${target}`);
  expect(calls.slice(0, -1).every((call) => call.includes(target))).toBe(true);
});
