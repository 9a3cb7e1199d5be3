import { resolve as resolvePath } from 'node:path';
import { readTextFile } from './read-text-file.ts';
import type { Path, Position, TextResolver } from './yaml-tree.ts';

/**
 * References inside text values: `${NAME}` is an environment variable, `${file:PATH}` the content of a file relative to the
 * configuration's folder, `$${` a literal `${`. What they give is treated as secret: it never reaches a message.
 */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// biome-ignore lint/suspicious/noTemplateCurlyInString: the message shows the form itself.
const MALFORMED = 'a reference is ${NAME} or ${file:PATH}; write $${ for a literal ${';
/** Text without it refers to no file. */
export const FILE_PREFIX = 'file:';
const MAX_SECRET_LENGTH = 65_536;
/** A certificate with its chain is larger than a secret. */
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FILES = 1000;

export interface References {
  readonly resolve: TextResolver;
  /** References that gave nothing; the value that they stand in was left out. */
  missing(): readonly Missing[];
}

export interface Missing extends Position {
  readonly path: Path;
  /** Such as `the environment variable OPENAI_API_KEY is not set`. */
  readonly reason: string;
  /** It can be set right outside the file, as opposed to a reference that is written wrongly. */
  readonly elsewhere: boolean;
}

/** Collects the files that texts refer to. The paths are absolute. */
export class FileReferences {
  readonly paths = new Set<string>();
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  readonly collect: TextResolver = (text) => {
    for (const [, inner] of text.matchAll(REFERENCE)) {
      if (inner?.startsWith(FILE_PREFIX) && this.paths.size < MAX_FILES) this.paths.add(this.absolute(inner));
    }
    return text;
  };

  absolute(inner: string): string {
    return resolvePath(this.#folder, inner.slice(FILE_PREFIX.length));
  }
}

/** The content of each file, or why there is none. */
export async function readReferencedFiles(paths: Iterable<string>): Promise<ReadonlyMap<string, Lookup>> {
  const contents = new Map<string, Lookup>();
  for (const path of paths) {
    const file = await readTextFile(path, MAX_FILE_BYTES);
    contents.set(path, file.ok ? { text: file.text.replace(/[\r\n]+$/, '') } : { reason: file.reason });
  }
  return contents;
}

function asSecret(found: Lookup): Lookup {
  const isTooLong = 'text' in found && found.text.length > MAX_SECRET_LENGTH;
  return isTooLong ? { reason: `it is larger than ${MAX_SECRET_LENGTH} bytes` } : found;
}

export type Lookup = { readonly text: string } | { readonly reason: string };

export function references(
  env: Readonly<Record<string, string | undefined>>,
  files: FileReferences,
  contents: ReadonlyMap<string, Lookup>,
): References {
  const missing = new Map<string, Missing>();

  function lookUp(inner: string): Lookup {
    if (inner.startsWith(FILE_PREFIX)) {
      const found = asSecret(contents.get(files.absolute(inner)) ?? { reason: 'there are too many files' });
      if ('reason' in found)
        return { reason: `the file ${inner.slice(FILE_PREFIX.length)} cannot be read: ${found.reason}` };
      return found.text === '' ? { reason: `the file ${inner.slice(FILE_PREFIX.length)} is empty` } : found;
    }
    const value = env[inner];
    return value === undefined || value === ''
      ? { reason: `the environment variable ${inner} is not set` }
      : { text: value };
  }

  function resolve(text: string, path: Path, position: Position): string | undefined {
    if (!text.includes('${')) return text;
    const found: Missing[] = [];
    const result = text.replace(REFERENCE, (whole, inner: string | undefined) => {
      if (whole === '$${') return '${';
      if (inner === undefined || !(inner.startsWith(FILE_PREFIX) || ENV_NAME.test(inner))) {
        found.push({ path, ...position, reason: MALFORMED, elsewhere: false });
        return '';
      }
      const value = lookUp(inner);
      if ('text' in value) return value.text;
      found.push({ path, ...position, reason: value.reason, elsewhere: true });
      return '';
    });
    const worst = found.find(({ elsewhere }) => !elsewhere) ?? found[0];
    if (worst === undefined) return result;
    missing.set(JSON.stringify(path), worst);
    return undefined;
  }

  return { resolve, missing: () => [...missing.values()] };
}
