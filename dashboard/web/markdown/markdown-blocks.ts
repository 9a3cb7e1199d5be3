/** Parses the Markdown of models and documents to values, so that nothing in it can become HTML. */
export type Block =
  | { readonly kind: 'text' | 'rule'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | undefined; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const CLOSING_MARKS = /(?:^|\s)#+\s*$/;
const RULE = /^ {0,3}(?:-\s*){3,}$|^ {0,3}(?:\*\s*){3,}$|^ {0,3}(?:_\s*){3,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])(\s+|$)/;
const TABLE_LINE = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
/** Longer lines are no tables: the pattern could take a second for 20,000 characters. */
const MAX_TABLE_LINE = 1_000;
/** Deepest nesting of lists and quotes. */
const MAX_DEPTH = 8;

export function blocksOf(lines: readonly string[], depth = 0): readonly Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const { block, next } = depth > MAX_DEPTH ? textAt(lines, at) : blockAt(lines, at, depth);
    if (block !== undefined) blocks.push(block);
    at = next;
  }
  return blocks;
}

interface Found {
  readonly block?: Block;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number, depth: number): Found {
  const line = lines[at] ?? '';
  if (line.trim() === '') return { next: at + 1 };
  if (FENCE.test(line)) return codeAt(lines, at);
  const heading = HEADING.exec(line);
  if (heading) {
    const text = (heading[2] ?? '').replace(CLOSING_MARKS, '').trimEnd();
    return { block: { kind: 'heading', level: heading[1]?.length ?? 1, text }, next: at + 1 };
  }
  if (RULE.test(line)) return { block: { kind: 'rule', text: '' }, next: at + 1 };
  if (QUOTE.test(line)) {
    const next = endOf(lines, at, (one) => QUOTE.test(one));
    const inner = lines.slice(at, next).map((one) => one.replace(QUOTE, ''));
    return { block: { kind: 'quote', blocks: blocksOf(inner, depth + 1) }, next };
  }
  if (ITEM.test(line)) return listAt(lines, at, depth);
  const below = lines[at + 1] ?? '';
  if (line.includes('|') && below.length <= MAX_TABLE_LINE && TABLE_LINE.test(below)) {
    const next = endOf(lines, at, (one) => one.includes('|'));
    const rows = [line, ...lines.slice(at + 2, next)].map(cellsOf);
    return { block: { kind: 'table', rows }, next };
  }
  return textAt(lines, at);
}

/** The first line after `at` that `isSame` does not match. */
function endOf(lines: readonly string[], at: number, isSame: (line: string) => boolean): number {
  const end = lines.findIndex((line, index) => index > at && !isSame(line));
  return end === -1 ? lines.length : end;
}

/** Ends with the closing fence, or with the text that has arrived so far. */
function codeAt(lines: readonly string[], at: number): Found {
  const [, fence = '', language = ''] = FENCE.exec(lines[at] ?? '') ?? [];
  const end = endOf(lines, at, (line) => !(line.trim().startsWith(fence) && /^[`~]+$/.test(line.trim())));
  return { block: { kind: 'code', language, text: lines.slice(at + 1, end).join('\n') }, next: end + 1 };
}

/** Lines that belong to an item are indented as far as its text. */
function listAt(lines: readonly string[], at: number, depth: number): Found {
  const items: (readonly Block[])[] = [];
  const [, , first = '', number] = ITEM.exec(lines[at] ?? '') ?? [];
  const kind = first.at(-1);
  let next = at;
  for (;;) {
    const item = ITEM.exec(lines[next] ?? '');
    if (item === null || item[2]?.at(-1) !== kind || RULE.test(lines[next] ?? '')) break;
    const width = item[0].length;
    const isInside = (line: string) => line.trim() === '' || line.search(/\S/) >= Math.min(width, 2);
    const end = endOf(lines, next, isInside);
    const inner = lines.slice(next, end).map((line) => line.slice(Math.min(width, line.search(/\S|$/))));
    inner[0] = (lines[next] ?? '').slice(width);
    items.push(blocksOf(inner, depth + 1));
    next = end;
  }
  return { block: { kind: 'list', start: number === undefined ? undefined : Number(number), items }, next };
}

function cellsOf(line: string): readonly string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

const BEGINS_OTHER = [FENCE, HEADING, QUOTE, ITEM];

function textAt(lines: readonly string[], at: number): Found {
  const next = endOf(lines, at, (line) => line.trim() !== '' && !BEGINS_OTHER.some((other) => other.test(line)));
  return { block: { kind: 'text', text: lines.slice(at, next).join('\n') }, next };
}

export type Inline =
  | { readonly kind: 'plain' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis' | 'struck'; readonly parts: readonly Inline[] }
  | { readonly kind: 'link'; readonly url: string; readonly parts: readonly Inline[] };

/** Matches code, strong, emphasized and struck text, and links whose address matches `url`. */
const inlineWith = (url: string) =>
  new RegExp(
    String.raw`(?<code>\x60{1,3})(?<coded>[^\x60]+)\k<code>|\*\*(?<strong>[^\s*](?:[^*]|\*(?!\*))*)\*\*|(?<![\w*])(?<mark>[*_])(?<emphasis>[^\s*_][^*_]*)\k<mark>(?!\w)|~~(?<struck>[^~]+)~~|\[(?<label>[^\]]+)\]\((?<url>${url})\)`,
    'u',
  );
/** Only these addresses become links. */
const TO_THE_WEB = inlineWith(String.raw`https?:\/\/[^\s)]+`);
/** Callers must check the addresses. */
export const TO_ANYWHERE = inlineWith(String.raw`[^\s)]+`);
/** Longer paragraphs stay plain text, because the search for pairs may take quadratic time. */
const MAX_LENGTH = 10_000;

export function inlineOf(text: string, pattern = TO_THE_WEB): readonly Inline[] {
  const found = text.length > MAX_LENGTH ? null : pattern.exec(text);
  if (found === null) return text === '' ? [] : [{ kind: 'plain', text }];
  const { coded, strong, emphasis, struck, label, url } = found.groups ?? {};
  const before = text.slice(0, found.index);
  return [
    ...(before === '' ? [] : [{ kind: 'plain', text: before } as const]),
    coded !== undefined
      ? { kind: 'code', text: coded }
      : url !== undefined
        ? { kind: 'link', url, parts: inlineOf(label ?? '', pattern) }
        : {
            kind: strong !== undefined ? 'strong' : emphasis !== undefined ? 'emphasis' : 'struck',
            parts: inlineOf(strong ?? emphasis ?? struck ?? '', pattern),
          },
    ...inlineOf(text.slice(found.index + found[0].length), pattern),
  ];
}

/**
 * Splits a growing text into parts that are parsed separately, so that only the last part is parsed
 * again. They end at blank lines, but not within code, nor before a line that continues a list.
 */
export function partsOf(text: string): readonly string[] {
  const parts: string[][] = [[]];
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    const last = parts.at(-1) ?? [];
    const mark = FENCE.exec(line)?.[1];
    const isApart = fence === undefined && last.at(-1)?.trim() === '' && line.trim() !== '' && !/^\s/.test(line);
    if (isApart && !(ITEM.test(line) && ITEM.test(last[0] ?? ''))) parts.push([line]);
    else last.push(line);
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (fence !== undefined && line.trim().startsWith(fence) && /^[`~]+$/.test(line.trim())) fence = undefined;
  }
  return parts.map((lines) => lines.join('\n'));
}
