import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * Comments and documents name source files, and the trails for newcomers name symbols in them. A
 * rename without an update of these names fails here.
 */
const ROOT = join(import.meta.dirname, '..');
const LISTED = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
/** Git lists a path several times during a merge conflict. */
const FILES = [...new Set(LISTED.split('\n'))].filter((path) => path !== '' && existsSync(join(ROOT, path)));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Pages with trails to symbols. */
const TRAILS = ['CONTRIBUTING.md', 'docs/life-of-a-request.md'];

/** Generated files, and files that name examples. */
const LEFT_OUT = /(?:^|\/)(?:generated|corpus)\/|^test\/config\/|^test\/named-places\.test\.ts$/;
const COMMENT = /^\s*(?:\/\/|\/?\*|--|#|\{\/\*)/;
const SOURCE_FILE = /(?<![\w./:<-])((?:\.{0,2}\/)?(?:[\w.-]+\/)*[\w-][\w.-]*\.(?:tsx?|mjs|lua|sql))(?![\w/*])/g;

/** Files whose path ends in `end`, because a comment may name `stream/chat-stream.ts`. */
const endsWith = (end: string) => FILES.filter((path) => path === end || path.endsWith(`/${end}`));

/** Names of source files in comments or pages that do not exist. */
function deadNames(path: string, text: string): string[] {
  const isPage = path.endsWith('.md');
  return text
    .split('\n')
    .filter((line) => isPage || COMMENT.test(line))
    .flatMap((line) => [...line.matchAll(SOURCE_FILE)].map(([, name = '']) => name.replace(/^(?:\.{1,2}\/)+/, '')))
    .filter((name) => !name.startsWith('/') && !name.includes('NNNN'))
    .filter((name) => !isPage || name.includes('/'))
    .filter((name) => endsWith(name).length === 0)
    .map((name) => `${path}: ${name}`);
}

/** A trail claims that symbols are in a file: `core/pricing.ts` → `Prices`, `chargeNanoUsd`. */
const TRAIL = /`([\w./-]+)`\s+→((?:(?:,|\s+and)?\s+`[\w$]+`)+)/g;

/** Symbols of a trail that are missing in their file. The given path must identify one file. */
function lostSymbols(page: string, text: string): string[] {
  return [...text.matchAll(TRAIL)].flatMap(([, name = '', list = '']) => {
    const [path, ...others] = endsWith(name);
    if (path === undefined || others.length > 0) return [`${page}: ${name} is ${path ? 'several files' : 'no file'}`];
    const content = read(path);
    return [...list.matchAll(/`(\w+)`/g)]
      .map(([, symbol = '']) => symbol)
      .filter((symbol) => !new RegExp(`(?<![\\w$])${symbol}(?![\\w$])`).test(content))
      .map((symbol) => `${page}: ${basename(path)} has no ${symbol}`);
  });
}

describe('a source file that is named', () => {
  it('exists', () => {
    const readable = FILES.filter((path) => /\.(?:tsx?|mjs|lua|sql|ya?ml|sh|md)$/.test(path) && !LEFT_OUT.test(path));
    expect(readable.length).toBeGreaterThan(1_000);
    expect(readable.flatMap((path) => deadNames(path, read(path)))).toEqual([]);
  });

  it('is reported if it does not exist', () => {
    const comment =
      ' * (core/money.ts, money.ts, core/nothing.ts, nothing.lua)\nimport "./code.ts";\n// See x.test.ts.';
    expect(deadNames('a.ts', comment)).toEqual(['a.ts: core/nothing.ts', 'a.ts: nothing.lua', 'a.ts: x.test.ts']);
    expect(deadNames('a.md', 'NAME-page.tsx, core/nothing.ts, /etc/x.sql')).toEqual(['a.md: core/nothing.ts']);
  });
});

describe('a symbol on a trail', () => {
  it.each(TRAILS)('of %s is in its file', (page) => {
    const text = read(page);
    expect([...text.matchAll(TRAIL)].length).toBeGreaterThan(10);
    expect(lostSymbols(page, text)).toEqual([]);
  });

  it('is reported if it is missing', () => {
    const text = '`core/money.ts` → `parseUsd`, `parse` and `Nothing`: x\n`main.ts` → `main`; `core/no.ts` → `a`';
    expect(lostSymbols('a.md', text)).toEqual([
      'a.md: money.ts has no parse',
      'a.md: money.ts has no Nothing',
      'a.md: main.ts is several files',
      'a.md: core/no.ts is no file',
    ]);
  });
});
