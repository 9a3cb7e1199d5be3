import { describe, expect, it } from 'vitest';
import { breachesIn, MOST_COLUMNS } from './check-prose.ts';

const problems = (path: string, text: string) =>
  breachesIn(path, text).map(({ line, problem }) => `${line}: ${problem}`);

describe('comments', () => {
  it('begin with a noun or a verb', () => {
    expect(problems('a.ts', '/** What the store forgot. */\nconst a = 1;\n// Of the key.\n')).toEqual([
      '1: begins with "What": begin with a noun or a verb',
      '3: begins with "Of": begin with a noun or a verb',
    ]);
    expect(problems('a.ts', '/**\n * Detects data loss.\n * Of two marks the newer wins.\n */\n')).toEqual([]);
    expect(problems('a.ts', '/**\n * Where lines go.\n */\n')).toEqual([
      '2: begins with "Where": begin with a noun or a verb',
    ]);
    expect(problems('a.lua', '-- Whether it is open.\nlocal a = 1\n')).toHaveLength(1);
    expect(problems('a.css', '/* They stay. */\n')).toHaveLength(1);
  });

  it('use no word of the deny list, unless it is code', () => {
    expect(problems('a.ts', '// The lease lapses, see DESIGN 3.\n')).toEqual([
      '1: "DESIGN 3": cite a document of this repository by its heading',
      '1: "lapses": expire',
    ]);
    expect(problems('a.ts', '// Calls `lapse` of the script.\n')).toEqual([]);
  });

  it('are at most so wide, and code is not meant', () => {
    const wide = 'x'.repeat(MOST_COLUMNS);
    expect(problems('a.ts', `// ${wide}\nconst a = '${wide}';\nconst b = 2 * a;\n`)).toEqual([
      '1: 103 columns, at most 100',
    ]);
  });
});

describe('documents', () => {
  it('are held to the same words and width, but for code, tables and links', () => {
    const wide = 'word '.repeat(MOST_COLUMNS / 5);
    const text = `Nobody is told.\n\n${wide}wide\n\n| ${wide} |\n\n\`\`\`\n${wide} told\n\`\`\`\n`;
    expect(problems('a.md', text)).toEqual(['1: "told": reported', '3: 104 columns, at most 100']);
  });
});
