import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { longGroups } from './document-words.ts';

/**
 * Checks the language of comments and documents, and the length of documents (CONTRIBUTING.md,
 * "Language"): `node scripts/check-prose.ts [FILE…]` prints each breach, and exits with 1 if there
 * is any.
 */
const ROOT = join(import.meta.dirname, '..');

/** Longest line of prose, in characters. Code has its own limit (biome.json). */
export const MAX_COLUMNS = 100;

/** Words that only this project uses, each with the usual word. */
const DENIED: readonly (readonly [RegExp, string])[] = [
  [/\bSPEC\b|\b(?:DESIGN|INTERFACE) \d/, 'cite a document of this repository by its heading'],
  [/\banew\b/i, 'again'],
  [/\blaps(?:e|es|ed|ing)\b/i, 'expire'],
  [/\bbur(?:y|ies|ied)\b/i, 'dead-letter'],
  [/\bstands? above\b/i, 'overrides'],
  [/\bbeliev(?:e|es|ed|able)\b/i, 'trust'],
  [/\bdearer\b|\bdearest\b|\bis dear\b/i, 'expensive'],
];

interface Prose {
  readonly line: number;
  readonly text: string;
  readonly columns: number;
}

export function breachesIn(path: string, text: string) {
  const prose = path.endsWith('.md') ? proseOfDocument(text) : proseOfComments(path, text);
  return prose.flatMap((part) => problemsOf(part).map((problem) => ({ line: part.line, problem })));
}

function problemsOf({ text, columns }: Prose): string[] {
  return [
    ...(columns > MAX_COLUMNS ? [`${columns} columns, at most ${MAX_COLUMNS}`] : []),
    ...DENIED.flatMap(([word, better]) => {
      const found = word.exec(text.replace(/`[^`]*`/g, ''));
      return found ? [`"${found[0]}": ${better}`] : [];
    }),
  ];
}

/** Long links and code spans, which cannot be wrapped. */
const UNBREAKABLE = /\]\([^)]{60,}\)|`[^`]{60,}`/g;

/** The lines of a document outside of tables and code blocks. */
function proseOfDocument(text: string): Prose[] {
  let isCode = false;
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    if (isCode || /^\s*(?:```|~~~|\||<)/.test(line)) return [];
    const columns = line.replace(UNBREAKABLE, '').length;
    return [{ line: index + 1, text: line, columns }];
  });
}

const LINE_COMMENT: Readonly<Record<string, RegExp>> = {
  lua: /^\s*--\s?(.*)$/,
  sql: /^\s*--\s?(.*)$/,
  yaml: /^\s*#\s?(.*)$/,
  sh: /^\s*#(?!!)\s?(.*)$/,
  yml: /^\s*#\s?(.*)$/,
  service: /^\s*#\s?(.*)$/,
  Dockerfile: /^\s*#\s?(.*)$/,
};
const SCRIPT_COMMENT = /^\s*(?:\/\/\s?|\/\*\*?\s?|\*(?!\/)\s?|\{\/\*\s?)(.*?)(?:\s*\*\/\}?)?$/;

/** Comments that occupy whole lines. */
function proseOfComments(path: string, source: string): Prose[] {
  const extension = path.slice(path.lastIndexOf('.') + 1);
  const pattern = LINE_COMMENT[extension] ?? SCRIPT_COMMENT;
  let wasComment = false;
  return source.split('\n').flatMap((line, index) => {
    const text = pattern.exec(line)?.[1];
    const begins = /^\s*(?:\{?\/\*)/.test(line);
    const isComment =
      text !== undefined && (pattern !== SCRIPT_COMMENT || begins || wasComment || /^\s*\/\//.test(line));
    wasComment = isComment && !/\*\/\}?\s*$/.test(line);
    if (!isComment || text === '' || /^(?:https?:|@|biome-ignore|\/ <)/.test(text)) return [];
    const columns = isExample(extension, text) ? 0 : line.length;
    return [{ line: index + 1, text, columns }];
  });
}

/** True for lines of commented-out configuration, which are aligned by hand. */
const isExample = (extension: string, text: string) =>
  /^(?:ya?ml|Dockerfile)$/.test(extension) && /^(?: |[a-z_]+: )/.test(text);

const CHECKED = /\.(?:ts|tsx|mjs|as|lua|sql|md|css|yaml|yml|sh|service)$|^Dockerfile$/;
/** Generated or external files. */
const LEFT_OUT = /(?:^|\/)(?:generated|corpus|node_modules)\/|test\/config\//;

function checkedFiles(): string[] {
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => CHECKED.test(path) && !LEFT_OUT.test(path) && existsSync(join(ROOT, path)));
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  let count = 0;
  for (const path of named.length > 0 ? named : checkedFiles())
    for (const { line, problem } of breachesIn(path, readFileSync(join(ROOT, path), 'utf8'))) {
      count++;
      process.stdout.write(`${path}:${line}: ${problem}\n`);
    }
  if (count > 0) process.stdout.write(`${count} breaches of the rules for prose\n`);
  const long = longGroups(ROOT);
  for (const line of long) process.stdout.write(`${line}\n`);
  process.exitCode = count + long.length > 0 ? 1 : 0;
}
