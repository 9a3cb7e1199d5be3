import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allFiles, PRODUCTION } from './fixtures/source-files.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'test/README.md',
  'test/bench/NOTES.md',
  'dashboard/web/README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

const TOP_LEVEL = new Set(readdirSync(ROOT));

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

/** The anchors that GitHub generates from headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Links to files and headings that do not exist. */
function brokenLinks(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  return links
    .filter(([, path, anchor]) => {
      const target = path ? join(dirname(page), path) : page;
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target === page ? text : read(target)).includes(anchor);
    })
    .map(([link]) => `${page}: ${link}`);
}

/** Citations, such as `docs/design.md, "Delivery"`, of headings that do not exist. */
function brokenCitations(path: string, text: string): string[] {
  const joined = text.replace(/\n\s*(?:\*|\/\/|--) ?/g, ' ');
  return [...joined.matchAll(/(docs\/[\w-]+\.md),\s+"([^"]+)"/g)]
    .filter(([, page = '', heading]) => !existsSync(join(ROOT, page)) || !read(page).includes(`# ${heading}\n`))
    .map(([, page, heading]) => `${path}: ${page}, "${heading}"`);
}

/** Names of tests, such as `integration/keys/keys`, that do not exist. */
function missingTests(page: string, text: string): string[] {
  const named = [
    ...text.matchAll(
      /`(?:test\/)?((?:contract|faults|browser|bench|deploy|integration(?:\/[\w-]+)?)\/[\w-]+)(?:\.test\.ts)?`/g,
    ),
  ];
  return named
    .filter(
      ([, name]) => ![`test/${name}.test.ts`, `test/${name}`, `${name}`].some((path) => existsSync(join(ROOT, path))),
    )
    .map(([, name]) => `${page}: ${name}`);
}

/** Files and folders of the repository that a page names in backticks and that do not exist. */
function missingFiles(page: string, text: string): string[] {
  const named = [...text.matchAll(/`([\w.-]+\/[\w./-]+)`/g)].map(([, path = '']) => path);
  return named
    .filter((path) => TOP_LEVEL.has(path.split('/')[0] ?? '') && !path.includes('NNNN'))
    .filter((path) => ![path, `${path}.test.ts`, `test/${path}.test.ts`].some((file) => existsSync(join(ROOT, file))))
    .map((path) => `${page}: ${path}`);
}

describe('documentation', () => {
  it('names only files that exist', () => {
    expect(PAGES.flatMap((page) => missingFiles(page, read(page)))).toEqual([]);
    expect(missingFiles('a.md', '`core/nothing.ts`, `core/money.ts`, `a/b`')).toEqual(['a.md: core/nothing.ts']);
  });

  it('links only to files and headings that exist', () => {
    expect(PAGES.flatMap((page) => brokenLinks(page, read(page)))).toEqual([]);
    expect(
      brokenLinks('docs/stores.md', '# A b\n[x](#a-b) [x](design.md#delivery) [x](https://a.b) [x](../LICENSE)'),
    ).toEqual([]);
    expect(brokenLinks('docs/stores.md', '[x](#b) [x](design.md#40) [x](nothing.md)')).toHaveLength(3);
  });

  it('names only tests that exist', () => {
    expect(PAGES.flatMap((page) => missingTests(page, read(page)))).toEqual([]);
    expect(missingTests('a.md', '`integration/keys/keys`, `test/faults/soak.test.ts`, `contract/nothing`')).toEqual([
      'a.md: contract/nothing',
    ]);
  });

  it('has every heading that a comment cites', () => {
    const sources = allFiles([...PRODUCTION, 'test']);
    expect(sources.some(({ text }) => text.includes('docs/interface.md, "'))).toBe(true);
    const inCode = sources.filter(({ path }) => !path.endsWith('documentation.test.ts'));
    expect(inCode.flatMap(({ path, text }) => brokenCitations(path, text))).toEqual([]);
    const text = '// docs/design.md, "Delivery"\n// docs/design.md,\n// "No such part", docs/nothing.md, "Delivery"\n';
    expect(brokenCitations('a.ts', text)).toEqual([
      'a.ts: docs/design.md, "No such part"',
      'a.ts: docs/nothing.md, "Delivery"',
    ]);
  });
});
