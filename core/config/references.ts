import { isUtf8 } from 'node:buffer';
import { resolve as resolvePath } from 'node:path';
import { NOT_UTF8, readBytes, readTextFile } from './read-text-file.ts';
import { isOfDashboard, isOnlyChecked, isSecretElsewhere, isUnread, type Secrets } from './secret-places.ts';
import type { Path, Position, TextResolver } from './yaml-tree.ts';

/**
 * References inside text values: `${NAME}` is an environment variable, `${NAME:-TEXT}` the same
 * with a default for a variable that is not set or empty, `${file:PATH}` the content of a file
 * relative to the configuration's folder, `$${` a literal `${`. Their values are treated as secrets
 * and never appear in a message.
 */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
/** The form of shells and Compose. */
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
// biome-ignore lint/suspicious/noTemplateCurlyInString: the message shows the form itself.
const MALFORMED = 'a reference is ${NAME}, ${NAME:-TEXT} or ${file:PATH}; write $${ for a literal ${';
const EMPTIED = 'its file is empty: the former content stays in use until a restart';
/** Members of a problem that no missing variable or file causes. */
const INSIDE = { elsewhere: false, forbidden: false };
/** Every reference to a file contains this. */
export const FILE_PREFIX = 'file:';
const MAX_SECRET_LENGTH = 65_536;
/** A certificate with its chain is larger than a secret. */
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FILES = 1000;
const LF = 0x0a;
const CR = 0x0d;
/** A decoder drops it at the start of a text. */
const BOM = Buffer.from('\ufeff');

export interface References {
  readonly resolve: TextResolver;
  /** Unresolved references. The values that contain them were left out. */
  missing(): readonly Missing[];
  /** References to files that are empty now, and whose former content is used. */
  emptied(): readonly Missing[];
  /** Called when the configuration is loaded. */
  loaded(): void;
  /** True for a secret in an existing file, whose content is not kept. */
  isOnlyChecked(path: Path): boolean;
  variables(): ProcessVariables;
}

/** Environment variables that the configuration refers to. */
export interface ProcessVariables {
  /**
   * Variables of the dashboard's sections, and of values that are not secrets, except variables to
   * which a secret of another process refers too.
   */
  readonly ofDashboard: readonly string[];
  /** Variables of the dashboard's sections alone. No other process needs them. */
  readonly ofDashboardAlone: readonly string[];
}

export interface Missing extends Position {
  readonly path: Path;
  /** Such as `the environment variable OPENAI_API_KEY is not set`. */
  readonly reason: string;
  /** True if the problem can be corrected outside the file. False for a malformed reference. */
  readonly elsewhere: boolean;
  /** True if the file exists and this user may not read it. */
  readonly forbidden: boolean;
}

/** Collects the files that texts refer to. The paths are absolute. */
export class FileReferences {
  readonly paths = new Set<string>();
  /** Paths of secrets that are not loaded: not read, or read and not kept. */
  readonly secretPaths = new Set<string>();
  readonly #folder: string;
  readonly #secrets: Secrets;

  constructor(folder: string, secrets: Secrets) {
    this.#folder = folder;
    this.#secrets = secrets;
  }

  readonly collect: TextResolver = (text, path) => {
    const isKept = !(isUnread(path, this.#secrets) || isOnlyChecked(path, this.#secrets));
    const paths = isKept ? this.paths : this.secretPaths;
    for (const [, inner] of text.matchAll(REFERENCE)) {
      if (inner?.startsWith(FILE_PREFIX) && paths.size < MAX_FILES) paths.add(this.absolute(inner));
    }
    return text;
  };

  absolute(inner: string): string {
    return resolvePath(this.#folder, inner.slice(FILE_PREFIX.length));
  }
}

/** Placeholders as long as the secrets, or the files' problems. Bytes are overwritten at once. */
export async function checkSecretFiles(paths: Iterable<string>): Promise<ReadonlyMap<string, Lookup>> {
  const checked = new Map<string, Lookup>();
  for (const path of paths) {
    const file = await readBytes(path, MAX_FILE_BYTES);
    checked.set(path, file.ok ? checkedSecret(file.bytes) : file);
    if (file.ok) file.bytes.fill(0);
  }
  return checked;
}

function checkedSecret(bytes: Buffer): Lookup {
  if (!isUtf8(bytes)) return NOT_UTF8;
  const text = bytes.subarray(bytes.indexOf(BOM) === 0 ? BOM.length : 0);
  const last = text.findLastIndex((byte) => byte !== LF && byte !== CR);
  const continuing = text.reduce((count, byte) => count + ((byte & 0xc0) === 0x80 ? 1 : 0), 0);
  return { text: 'x'.repeat(last + 1 - continuing) };
}

/** Content of each file, or its problem. */
export async function readReferencedFiles(paths: Iterable<string>): Promise<ReadonlyMap<string, Lookup>> {
  const contents = new Map<string, Lookup>();
  for (const path of paths) {
    const file = await readTextFile(path, MAX_FILE_BYTES);
    contents.set(path, file.ok ? { text: file.text.replace(/[\r\n]+$/, '') } : file);
  }
  return contents;
}

/** Contents of the files for the configuration that this process loaded last. */
let latest: ReadonlyMap<string, Lookup> = new Map();

/**
 * An emptied file keeps its former content: a program that writes in place empties it first,
 * sometimes for seconds (`gcloud … > FILE`).
 */
function withFormer(contents: ReadonlyMap<string, Lookup>): ReadonlyMap<string, Lookup> {
  return new Map(
    [...contents].map(([path, found]): [string, Lookup] => {
      const former = textOf(latest.get(path));
      return [path, textOf(found) === '' && former ? { text: former, isFormer: true } : found];
    }),
  );
}

function textOf(found: Lookup | undefined): string | undefined {
  return found && 'text' in found ? found.text : undefined;
}

function asSecret(found: Lookup): Lookup {
  const isTooLong = 'text' in found && found.text.length > MAX_SECRET_LENGTH;
  return isTooLong ? { reason: `it is larger than ${MAX_SECRET_LENGTH} bytes` } : found;
}

export type Lookup =
  | { readonly text: string; readonly isFormer?: true }
  | { readonly reason: string; readonly forbidden?: true };

export interface ReferenceSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: FileReferences;
  readonly contents: ReadonlyMap<string, Lookup>;
  /** Present if secrets are checked: placeholders for files, by path of `files.secretPaths`. */
  readonly checked: ReadonlyMap<string, Lookup>;
  readonly secrets: Secrets;
}

export function references({ env, files, contents: read, checked, secrets }: ReferenceSources): References {
  const contents = withFormer(read);
  const missing = new Map<string, Missing>();
  const emptied = new Map<string, Missing>();
  const onlyChecked = new Set<string>();
  const ofDashboard = new Set<string>();
  const ofSecrets = new Set<string>();
  const ofOthers = new Set<string>();

  function lookUp(inner: string, path: Path): Lookup {
    if (inner.startsWith(FILE_PREFIX)) {
      const name = inner.slice(FILE_PREFIX.length);
      const from = isOnlyChecked(path, secrets) ? checked : contents;
      const found = asSecret(from.get(files.absolute(inner)) ?? { reason: 'there are too many files' });
      if ('reason' in found) return { ...found, reason: `the file ${name} cannot be read: ${found.reason}` };
      return found.text === '' ? { reason: `the file ${name} is empty` } : found;
    }
    const [, name = '', fallback] = VARIABLE.exec(inner) ?? [];
    (isOfDashboard(path) ? ofDashboard : isSecretElsewhere(path) ? ofSecrets : ofOthers).add(name);
    const value = env[name] || fallback;
    return value === undefined ? { reason: `the environment variable ${name} is not set` } : { text: value };
  }

  function resolve(text: string, path: Path, position: Position): string | undefined {
    if (isUnread(path, secrets)) return undefined;
    if (!text.includes('${')) return text;
    const found: Missing[] = [];
    let hasFile = false;
    const result = text.replace(REFERENCE, (whole, inner: string | undefined) => {
      if (whole === '$${') return '${';
      if (inner === undefined || !(inner.startsWith(FILE_PREFIX) || VARIABLE.test(inner))) {
        found.push({ path, ...position, reason: MALFORMED, ...INSIDE });
        return '';
      }
      hasFile ||= inner.startsWith(FILE_PREFIX);
      const value = lookUp(inner, path);
      if ('text' in value) {
        if (value.isFormer) emptied.set(JSON.stringify(path), { path, ...position, reason: EMPTIED, ...INSIDE });
        return value.text;
      }
      const { reason, forbidden = false } = value;
      found.push({ path, ...position, reason, elsewhere: true, forbidden });
      return '';
    });
    const worst = found.find(({ elsewhere }) => !elsewhere) ?? found[0];
    if (worst === undefined) {
      // A placeholder does not have the form that such a section requires.
      if (!(hasFile && isOfDashboard(path) && isOnlyChecked(path, secrets))) return result;
      onlyChecked.add(JSON.stringify(path));
      return undefined;
    }
    missing.set(JSON.stringify(path), worst);
    return undefined;
  }

  return {
    resolve,
    missing: () => [...missing.values()],
    emptied: () => [...emptied.values()],
    loaded() {
      latest = contents;
    },
    isOnlyChecked: (path) => onlyChecked.has(JSON.stringify(path)),
    variables: () => ({
      ofDashboard: [...new Set([...[...ofOthers].filter((name) => !ofSecrets.has(name)), ...ofDashboard])],
      ofDashboardAlone: [...ofDashboard].filter((name) => !(ofSecrets.has(name) || ofOthers.has(name))),
    }),
  };
}
