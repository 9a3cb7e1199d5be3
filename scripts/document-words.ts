import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Limits the number of words in the documents for each group of readers, so that they stay
 * readable. docs/README.md lists the same groups. The changelog is not limited.
 */
const MAINTAINERS = [
  'CONTRIBUTING.md',
  ...['design', 'glossary', 'life-of-a-request', 'performance', 'reliability', 'security'].map(
    (name) => `docs/${name}.md`,
  ),
];
const MOST_FOR_USERS = 20_000;
const MOST_FOR_MAINTAINERS = 12_000;

/** Number of words outside of code blocks. The bars of a table do not count. */
export const wordsIn = (text: string): number =>
  text.replace(/^```.*?^```/gms, '').match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;

/** One line for each group that is too long, with the number of words of its pages. */
export function longGroups(root: string): string[] {
  const others = ['README.md', 'SECURITY.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
  const users = others.filter((page) => page.endsWith('.md') && !MAINTAINERS.includes(page));
  return [
    ...tooLong('users and operators', users, MOST_FOR_USERS),
    ...tooLong('maintainers', MAINTAINERS, MOST_FOR_MAINTAINERS),
  ];

  function tooLong(readers: string, pages: readonly string[], most: number): string[] {
    const counts = pages.map((page) => ({ page, words: wordsIn(readFileSync(join(root, page), 'utf8')) }));
    const sum = counts.reduce((total, { words }) => total + words, 0);
    if (sum <= most) return [];
    const list = counts.toSorted((a, b) => b.words - a.words).map(({ page, words }) => `${page} ${words}`);
    return [`documents for ${readers} have ${sum} words, at most ${most}: ${list.join(', ')}`];
  }
}
