import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

/** One file of the build, as Vite's manifest lists it. */
interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}
type Manifest = Readonly<Record<string, Chunk>>;

const MAX_GZIP_BYTES = 200_000;
const MAX_PAGE_GZIP_BYTES = 40_000;
/** Bound on all scripts together: a feature that adds script has to remove as much. */
const MAX_SCRIPT_GZIP_BYTES = 330_000;
const DIST = fileURLToPath(new URL('../dashboard/dist/', import.meta.url));
const MANIFEST = join(DIST, '.vite', 'manifest.json');

/** Files that the overview with its chart loads into an empty browser cache. */
const FIRST_PAGE = ['index.html', 'pages/overview/overview-page.tsx', 'charts/chart-canvas.tsx'];

/** All scripts and styles that the entries load, each once. */
function filesOf(manifest: Manifest, entries: readonly string[]): string[] {
  const seen = new Set<string>();
  const files = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const chunk = manifest[name];
    if (!chunk) throw new Error(`the build has no ${name}`);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  for (const entry of entries) visit(entry);
  return [...files];
}

const gzipBytes = (files: readonly string[]) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(join(DIST, file))).length, 0);

describe('a build', () => {
  it('is counted with everything that its entries import, once', () => {
    const manifest = {
      a: { file: 'a.js', imports: ['b', 'c'], css: ['a.css'] },
      b: { file: 'b.js', imports: ['c'] },
      c: { file: 'c.js', css: ['a.css', 'c.css'] },
      d: { file: 'd.js' },
    };
    expect(filesOf(manifest, ['a', 'b']).sort()).toEqual(['a.css', 'a.js', 'b.js', 'c.css', 'c.js']);
    expect(() => filesOf(manifest, ['e'])).toThrow('no e');
  });
});

// `npm test` builds the page first.
describe.skipIf(!existsSync(MANIFEST))('the built page', () => {
  const manifest: Manifest = existsSync(MANIFEST) ? JSON.parse(readFileSync(MANIFEST, 'utf8')) : {};
  const html = existsSync(MANIFEST) ? readFileSync(join(DIST, 'index.html'), 'utf8') : '';

  it(`shows the overview with less than ${MAX_GZIP_BYTES / 1000} KB, compressed by gzip`, () => {
    const bytes = gzipBytes(['index.html', 'theme.js', 'favicon.svg', ...filesOf(manifest, FIRST_PAGE)]);
    expect(bytes).toBeLessThan(MAX_GZIP_BYTES);
    // React alone is larger than this, so a smaller sum means that the manifest was misread.
    expect(bytes).toBeGreaterThan(60_000);
  });

  it(`has at most ${MAX_SCRIPT_GZIP_BYTES / 1000} KB of scripts in all, compressed by gzip`, () => {
    const scripts = globSync('**/*.js', { cwd: DIST });
    expect(scripts.length).toBeGreaterThan(30);
    expect(gzipBytes(scripts)).toBeLessThanOrEqual(MAX_SCRIPT_GZIP_BYTES);
  });

  it('loads every page on demand, and no page is large', () => {
    const pages = Object.keys(manifest).filter((name) => /^pages\/.*-page\.tsx$/.test(name));
    expect(pages.length).toBeGreaterThan(15);
    const atOnce = filesOf(manifest, ['index.html']);
    const large = pages
      .map((page) => ({ page, bytes: gzipBytes(filesOf(manifest, [page]).filter((file) => file.includes('-page-'))) }))
      .filter(({ page, bytes }) => bytes > MAX_PAGE_GZIP_BYTES || atOnce.includes(manifest[page]?.file ?? ''));
    expect(large).toEqual([]);
  });

  it('has no inline script or style, which its policy forbids, and loads nothing from other origins', () => {
    const scripts = [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)];
    expect(scripts.length).toBeGreaterThanOrEqual(2);
    expect(
      scripts.filter(([, attributes = '', text = '']) => !/\bsrc="\//.test(attributes) || text.trim() !== ''),
    ).toEqual([]);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/i);
    const links = [...html.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !link.startsWith('/') || link.startsWith('//'))).toEqual([]);
  });
});
