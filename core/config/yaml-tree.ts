import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

import { exactNumber } from '../exact-number.ts';

/** Converts a parsed YAML document to plain data with the position of each value. */

/** Line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface SourceProblem extends Position {
  readonly message: string;
  readonly missing?: MissingFor;
}

export type Path = readonly (string | number)[];

/**
 * Process that needs a value which is missing outside the file: a variable that is not set, or a
 * file that is away or that this user may not read.
 */
export type MissingFor = 'gateway' | 'dashboard';

/** Resolves the references of a text (`${NAME}`). `undefined` leaves the value out. */
export type TextResolver = (text: string, path: Path, position: Position) => string | undefined;

/** A price of a target's costs, by date, hour, tier and length, is 14 levels deep. */
const MAX_DEPTH = 16;
/** Bounds for aliases, far above the largest sensible file. */
const MAX_NODES = 50_000;
const MAX_ALIASES = 1000;

const MERGE_KEY = 'YAML 1.2 has no merge keys; write the entries here, or give the whole value as an alias';

type Data = string | number | boolean | null | Data[] | { [name: string]: Data };

export class YamlTree {
  readonly problems: SourceProblem[] = [];
  readonly value: Data | undefined;
  readonly #values = new Map<string, Position>();
  readonly #names = new Map<string, Position>();
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #resolve: TextResolver;
  #nodes = 0;
  #aliases = 0;

  constructor(document: Document, lines: LineCounter, resolve: TextResolver) {
    this.#document = document;
    this.#lines = lines;
    this.#resolve = resolve;
    this.value = this.#read(document.contents, []);
  }

  /** Position of the value at the path, or else of the nearest enclosing entry. */
  positionOf(path: Path): Position {
    const own = this.#values.get(JSON.stringify(path));
    return own ?? (path.length === 0 ? { line: 1, column: 1 } : this.positionOfName(path.slice(0, -1)));
  }

  /** Position of the name of the entry, or else of its value. */
  positionOfName(path: Path): Position {
    return this.#names.get(JSON.stringify(path)) ?? this.positionOf(path);
  }

  #read(node: unknown, path: Path): Data | undefined {
    const position = this.#position(node);
    if (position) this.#values.set(JSON.stringify(path), position);
    if (++this.#nodes > MAX_NODES) return this.#refuse(position, `more than ${MAX_NODES} entries, aliases expanded`);
    if (path.length > MAX_DEPTH) return this.#refuse(position, `nested more than ${MAX_DEPTH} levels deep`);
    if (isAlias(node)) {
      if (++this.#aliases > MAX_ALIASES) {
        // Stops reading: every further alias exceeds the bound too.
        this.#nodes += MAX_NODES;
        return this.#refuse(position, `more than ${MAX_ALIASES} aliases`);
      }
      const target = node.resolve(this.#document);
      return target
        ? this.#read(target, path)
        : this.#refuse(position, 'this alias names no anchor that stands before it');
    }
    if (isMap(node)) return this.#readMap(node, path);
    if (isSeq(node)) return this.#readList(node, path);
    if (!isScalar(node)) return node === null ? null : undefined;
    if (typeof node.value === 'string') return this.#resolve(node.value, path, position ?? this.positionOf(path));
    if (typeof node.value === 'number' && isSetValue(path)) return exactNumber(node.value, node.source) as Data;
    return typeof node.value === 'number' || typeof node.value === 'boolean' ? node.value : null;
  }

  #readMap(map: YAMLMap, path: Path): Data {
    const entries = new Map<string, Data>();
    const names = new Set<string>();
    for (const pair of map.items) {
      const name = this.#readName(pair);
      if (name === undefined) continue;
      const child = [...path, name];
      const position = this.#position(pair.key);
      if (names.has(name)) this.#refuse(position, 'this name is given twice in the same mapping; keep one');
      names.add(name);
      if (position) this.#names.set(JSON.stringify(child), position);
      const value = this.#read(pair.value, child);
      if (value !== undefined) entries.set(name, value);
      if (this.#nodes > MAX_NODES) break;
    }
    return Object.fromEntries(entries);
  }

  /** Names are source text (`4.1:` is no number). Mappings as names and `__proto__` are refused. */
  #readName(pair: Pair): string | undefined {
    const key = isAlias(pair.key) ? pair.key.resolve(this.#document) : pair.key;
    const name = isScalar(key) ? (typeof key.value === 'string' ? key.value : key.source) : undefined;
    if (name === '<<') return this.#refuse(this.#position(pair.key), MERGE_KEY);
    if (name !== undefined && name !== '' && name !== '__proto__') return name;
    return this.#refuse(
      this.#position(pair.key) ?? this.#position(pair.value),
      'a name must be text that is not empty; quote it',
    );
  }

  #readList(list: YAMLSeq, path: Path): Data {
    const values: Data[] = [];
    for (const [index, item] of list.items.entries()) {
      values.push(this.#read(item, [...path, index]) ?? null);
      if (this.#nodes > MAX_NODES) break;
    }
    return values;
  }

  #position(node: unknown): Position | undefined {
    const range = isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? node.range : undefined;
    if (!range) return undefined;
    const { line, col } = this.#lines.linePos(range[0]);
    return { line, column: col };
  }

  #refuse(position: Position | undefined, message: string): undefined {
    this.problems.push({ line: position?.line ?? 1, column: position?.column ?? 1, message });
  }
}

/** True for a value of `set` or `set_with_tools`, whose numbers are sent exactly as written. */
function isSetValue(path: Path): boolean {
  const at = path[0] === 'providers' ? 2 : path[0] === 'models' && path[2] === 'targets' ? 4 : undefined;
  if (at === undefined || path[at] !== 'request') return false;
  return path[at + 1] === 'set' || path[at + 1] === 'set_with_tools';
}
