import { describe, expect, it } from 'vitest';
import { longFunctionsIn, MOST_LINES } from './function-lengths.ts';

/** A function or method with this many lines. */
const withLines = (lines: number, head: string) => `${head} {\n${'  work();\n'.repeat(lines - 2)}}\n`;

describe('functions', () => {
  it('are reported with their position when they are too long', () => {
    expect(longFunctionsIn('a.ts', withLines(MOST_LINES, 'export function whole()'))).toEqual([]);
    const long = withLines(MOST_LINES + 1, 'export function whole()');
    expect(longFunctionsIn('a.ts', `// First.\n${long}`)).toEqual(['a.ts:2: whole has 71 lines, at most 70']);
  });

  it('include methods, functions in variables and nested functions', () => {
    const method = `class A {\n${withLines(MOST_LINES + 1, 'async #read()')}}\n`;
    expect(longFunctionsIn('a.ts', method)).toEqual(['a.ts:2: #read has 71 lines, at most 70']);
    const inner = withLines(MOST_LINES + 1, '() =>');
    expect(longFunctionsIn('a.tsx', `const outer = () => {\nreturn ${inner}};\n`)).toEqual([
      'a.tsx:1: outer has 73 lines, at most 70',
      'a.tsx:2: a function has 71 lines, at most 70',
    ]);
  });

  it('exclude classes, however long, whose methods are short', () => {
    const parts = Array.from({ length: MOST_LINES }, (_, index) => withLines(3, `part${index}()`));
    expect(longFunctionsIn('a.ts', `class A {\n${parts.join('')}}\n`)).toEqual([]);
  });
});
