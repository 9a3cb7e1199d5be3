import { LineCounter, parseDocument, type YAMLError } from 'yaml';
import { type SourceProblem, type TextResolver, YamlTree } from './yaml-tree.ts';

export type YamlResult =
  | { readonly ok: true; readonly tree: YamlTree }
  | { readonly ok: false; readonly problems: readonly SourceProblem[] };

const TOO_DEEP = 'the file is nested too deeply';

const NO_COLON = 'a name needs ":" and a space behind it on its line, and entries in braces a comma between them';
const NO_COMMA = 'a comma is missing between two entries in braces or brackets';

/** Texts that replace the parser's messages, which may quote a secret of the file. */
const SYNTAX_MESSAGES: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  TAB_AS_INDENT: 'tabs are not accepted as indentation; use spaces',
  MULTIPLE_DOCS: 'only one YAML document is accepted; remove the "---" before the second',
  TAG_RESOLVE_FAILED: 'YAML tags are not accepted; remove the "!"',
  MISSING_CHAR: 'a closing quote, bracket or brace is missing before this place',
  BAD_INDENT: 'the indentation does not fit, or a closing bracket or brace is missing',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot begin here; give it its own line, or quote a value that contains ": "',
  MULTILINE_IMPLICIT_KEY: NO_COLON,
  BLOCK_IN_FLOW: NO_COMMA,
  BAD_SCALAR_START: 'a value cannot begin with this character; quote it',
  UNEXPECTED_TOKEN: 'this cannot stand here; a value that contains { } [ ] , # or ": " needs quotes',
  RESOURCE_EXHAUSTION: TOO_DEEP,
};

/** What is missing for the parser, by the first words of its message. By default a closing one. */
const MISSING_CHARS: readonly (readonly [words: string, message: string])[] = [
  ['Implicit map keys need', NO_COLON],
  ['Missing ,', NO_COMMA],
  ['Comments must be separated', 'a comment needs a space before its "#"'],
];

/** Far more open brackets than any file has, also in its comments. */
const MAX_OPEN_BRACKETS = 1_000;

/** Reads YAML 1.2. Reports repeated names, tabs, tags, several documents and bad syntax. */
export function readYaml(text: string, resolve: TextResolver): YamlResult {
  const tooDeep = tooManyOpenBrackets(text);
  if (tooDeep !== undefined) return tooDeep;
  const lines = new LineCounter();
  // Without prettyErrors the parser does not copy the source line into its messages. YamlTree finds
  // repeated names: the parser compares each name with all before it, which took a sixth of the
  // time for 2,000 models.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, version: '1.2' });
  // Only the first syntax error is reported, because the parser guesses after it.
  const fault = [...document.errors, ...document.warnings][0];
  if (fault !== undefined) return { ok: false, problems: [syntaxProblem(fault, lines)] };
  if (document.contents === null) return refused('the file is empty');
  const tree = new YamlTree(document, lines, resolve);
  return tree.problems.length > 0 ? { ok: false, problems: tree.problems } : { ok: true, tree };
}

/** Counts brackets, even in texts and comments: the parser would take 10 s for 1 MB of them. */
function tooManyOpenBrackets(text: string): YamlResult | undefined {
  let open = 0;
  for (const { 0: bracket, index } of text.matchAll(/[[\]{}]/g)) {
    open = bracket === '[' || bracket === '{' ? open + 1 : Math.max(open - 1, 0);
    if (open <= MAX_OPEN_BRACKETS) continue;
    const before = text.slice(0, index).split('\n');
    return refused(TOO_DEEP, before.length, (before.at(-1) ?? '').length + 1);
  }
  return undefined;
}

function refused(message: string, line = 1, column = 1): YamlResult {
  return { ok: false, problems: [{ line, column, message }] };
}

function syntaxProblem(fault: YAMLError, lines: LineCounter): SourceProblem {
  const { line, col } = lines.linePos(fault.pos[0]);
  const missing = MISSING_CHARS.find(([words]) => fault.message.startsWith(words))?.[1];
  const message = missing ?? SYNTAX_MESSAGES[fault.code] ?? 'this is not valid YAML';
  return { line: Math.max(line, 1), column: Math.max(col, 1), message };
}
