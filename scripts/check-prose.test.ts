import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { breachesIn, MAX_COLUMNS } from './check-prose.ts';
import { longGroups, wordsIn } from './document-words.ts';

const problems = (path: string, text: string) =>
  breachesIn(path, text).map(({ line, problem }) => `${line}: ${problem}`);

describe('comments', () => {
  it('contain no word of the deny list outside of code', () => {
    expect(problems('a.ts', '// The lease lapses, see DESIGN 3.\n')).toEqual([
      '1: "DESIGN 3": cite a document of this repository by its heading',
      '1: "lapses": expire',
    ]);
    expect(problems('a.ts', '// Calls `lapse` of the script.\n')).toEqual([]);
  });

  it('have a maximum width, which does not apply to code', () => {
    const wide = 'x'.repeat(MAX_COLUMNS);
    expect(problems('a.ts', `// ${wide}\nconst a = '${wide}';\nconst b = 2 * a;\n`)).toEqual([
      '1: 103 columns, at most 100',
    ]);
  });
});

describe('documents', () => {
  it('have the same deny list and width, except in code, tables and links', () => {
    const wide = 'word '.repeat(MAX_COLUMNS / 5);
    const text = `A lease lapses.\n\n${wide}wide\n\n| ${wide} |\n\n\`\`\`\n${wide} lapses\n\`\`\`\n`;
    expect(problems('a.md', text)).toEqual(['1: "lapses": expire', '3: 104 columns, at most 100']);
  });

  it('count words outside of code, with a bound for each group of readers', () => {
    expect(wordsIn('| a | 9.5 |\n|---|---|\n```sh\nnpm start\n```\n- See [b](c.md).\n')).toBe(4);
    const root = mkdtempSync(join(tmpdir(), 'words-'));
    mkdirSync(join(root, 'docs'));
    for (const page of ['README', 'SECURITY', 'CONTRIBUTING']) writeFileSync(join(root, `${page}.md`), 'a b');
    for (const page of ['design', 'glossary', 'life-of-a-request', 'performance', 'reliability', 'security', 'new'])
      writeFileSync(join(root, `docs/${page}.md`), page === 'new' ? 'word '.repeat(19_997) : '');
    expect(longGroups(root)).toEqual([
      'documents for users and operators have 20001 words, at most 20000: docs/new.md 19997, README.md 2, SECURITY.md 2',
    ]);
    rmSync(root, { recursive: true });
  });
});
