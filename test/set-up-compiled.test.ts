import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSetUpFolder } from './fixtures/set-up-folder.ts';

/**
 * Runs set-up in a folder with its own programs. Dependencies and Envoy are those of this clone.
 */
const root = createSetUpFolder();
const compiled = join(root, '.cache/compiled');

beforeAll(() => {
  mkdirSync(join(root, 'supervisor'));
  writeFileSync(join(root, 'supervisor/main.ts'), 'export const one: number = 1;\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Runs set-up and returns its output. */
function setUp(): string {
  const command = `'${process.execPath}' '${join(root, 'scripts/setup.mjs')}' 2>&1`;
  return execFileSync('sh', ['-c', command], { encoding: 'utf8', timeout: 60_000 });
}

test('programs are compiled once, before the first start', { timeout: 60_000 }, () => {
  expect(setUp()).toContain('Compiling …');
  const kept = readdirSync(compiled, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(kept).not.toHaveLength(0);
  expect(setUp()).not.toContain('Compiling …');
});
