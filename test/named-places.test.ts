import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Trails of a newcomer name symbols in files. A rename fails here, so that trails cannot rot. */
const ROOT = join(import.meta.dirname, '..');
const FILES = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Pages whose trails lead to symbols. */
const TRAILS = ['CONTRIBUTING.md', 'docs/life-of-a-request.md'];

/** Files by the end of their path: a trail may name `final-event.ts` alone. */
const endsWith = (end: string) => FILES.filter((path) => path === end || path.endsWith(`/${end}`));

/** `core/pricing.ts` → `Prices`, `chargeNanoUsd`: what a page promises to be in a file. */
const TRAIL = /`([\w./-]+)`\s+→((?:(?:,|\s+and)?\s+`[\w$]+`)+)/g;

/** Names of a trail that are not in their file. A file without its folder has a name of its own. */
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

describe('a symbol on a trail', () => {
  it.each(TRAILS)('of %s is in its file', (page) => {
    const text = read(page);
    expect([...text.matchAll(TRAIL)].length).toBeGreaterThan(10);
    expect(lostSymbols(page, text)).toEqual([]);
  });

  it('is missed where it is not', () => {
    const text = '`core/money.ts` → `parseUsd`, `parse` and `Nothing`: x\n`main.ts` → `main`; `core/no.ts` → `a`';
    expect(lostSymbols('a.md', text)).toEqual([
      'a.md: money.ts has no parse',
      'a.md: money.ts has no Nothing',
      'a.md: main.ts is several files',
      'a.md: core/no.ts is no file',
    ]);
  });
});
