import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSetUpFolder } from './fixtures/set-up-folder.ts';

/** Runs set-up in a folder with its own page. Dependencies and Envoy are those of this clone. */
const REPOSITORY = resolve(import.meta.dirname, '..');
const root = createSetUpFolder();
const page = join(root, 'dashboard/dist/index.html');

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

beforeAll(() => {
  const parts = ['vite.config.ts', 'documents', 'markdown', 'styles'].map((name) => `dashboard/web/${name}`);
  for (const part of [...parts, 'docs']) cpSync(join(REPOSITORY, part), join(root, part), { recursive: true });
  write('dashboard/web/index.html', '<!doctype html><script type="module" src="/main.tsx"></script>');
  write('dashboard/web/main.tsx', "import { said } from '../../core/said.ts';\ndocument.title = said;\n");
  write('core/said.ts', "export { said } from './word.ts';\n");
  write('core/word.ts', "export const said = 'first';\n");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Six builds, each less than half a second on an idle machine. */
const TIMEOUT_MS = 60_000;

/** Runs set-up and returns its output. */
function setUp(...args: string[]): string {
  const command = [process.execPath, join(root, 'scripts/setup.mjs'), ...args].map((part) => `'${part}'`).join(' ');
  return execFileSync('sh', ['-c', `${command} 2>&1`], { encoding: 'utf8', timeout: 60_000 });
}

function builtScript(): string {
  const folder = join(root, 'dashboard/dist/assets');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join();
}

test("the dashboard's page is built once, and again when its sources inside or outside its folder change", {
  timeout: TIMEOUT_MS,
}, () => {
  expect(setUp('--quiet')).toBe('');
  expect(existsSync(page)).toBe(false);
  expect(setUp()).toContain("Building the dashboard's page …");
  expect(builtScript()).toContain('first');
  expect(setUp()).toBe('');
  write('core/word.ts', "export const said = 'second';\n");
  write('ext-proc/other.ts', 'export const unused = 1;\n');
  expect(setUp()).toContain("Building the dashboard's page …");
  expect(builtScript()).toContain('second');
  write('ext-proc/other.ts', 'export const unused = 2;\n');
  write('dashboard/web/main.test.ts', "import '../../ext-proc/other.ts';\n");
  expect(setUp()).toBe('');
});

test('a page that cannot be built is reported at every start, and does not stop set-up', {
  timeout: TIMEOUT_MS,
}, () => {
  write('dashboard/web/main.tsx', 'const = 1;\n');
  for (let start = 1; start <= 2; start++) {
    const said = setUp();
    expect(said).toContain("The dashboard's page could not be built; everything else works without it.");
    expect(said).toContain('main.tsx');
    expect(said).not.toMatch(/^\s+at /m);
  }
});
