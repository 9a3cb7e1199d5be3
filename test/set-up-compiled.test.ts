import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Set-up in a folder with programs of its own; dependencies and Envoy are those of this clone. */
const REPOSITORY = resolve(import.meta.dirname, '..');
const root = mkdtempSync(join(tmpdir(), 'gw-set-up-'));
const compiled = join(root, '.cache/compiled');

beforeAll(() => {
  for (const name of ['scripts', 'core/lock', 'package.json', 'package-lock.json'])
    cpSync(join(REPOSITORY, name), join(root, name), { recursive: true });
  mkdirSync(join(root, '.cache'));
  for (const name of ['node_modules', '.cache/envoy']) symlinkSync(join(REPOSITORY, name), join(root, name));
  mkdirSync(join(root, 'supervisor'));
  writeFileSync(join(root, 'supervisor/main.ts'), 'export const one: number = 1;\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Everything that it said. */
function setUp(): string {
  const command = `'${process.execPath}' '${join(root, 'scripts/setup.mjs')}' 2>&1`;
  return execFileSync('sh', ['-c', command], { encoding: 'utf8', timeout: 60_000 });
}

test('programs are compiled once, so that the first start finds them so', { timeout: 60_000 }, () => {
  expect(setUp()).toContain('Compiling …');
  const kept = readdirSync(compiled, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(kept).not.toHaveLength(0);
  expect(setUp()).not.toContain('Compiling …');
});
