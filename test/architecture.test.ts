import { describe, expect, it } from 'vitest';
import { allFiles, PRODUCTION, sourceFiles } from './fixtures/source-files.ts';

const sources = sourceFiles(PRODUCTION);
const everything = allFiles([...PRODUCTION, 'test']);

/**
 * Rules that neither Biome nor the type checker can express. The others are in biome.json and
 * tsconfig.json.
 */
describe('files', () => {
  it('are at most 300 lines long', () => {
    const long = everything.filter(({ text }) => text.trimEnd().split('\n').length > 300);
    expect(long.map(({ path, text }) => `${path}: ${text.trimEnd().split('\n').length}`)).toEqual([]);
  });

  it('are named for what they do', () => {
    const badly = everything.filter(({ path }) =>
      /(?:^|\/)(?:utils?|helpers?|types|common|misc|index)\.tsx?$/.test(path),
    );
    expect(badly.map(({ path }) => path)).toEqual([]);
  });

  it('have no directive that silences the type checker outside tests', () => {
    const directives = sources.filter(({ text }) => /@ts-(?:expect-error|nocheck)/.test(text));
    expect(directives.map(({ path }) => path)).toEqual([]);
  });
});
