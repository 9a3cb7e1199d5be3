import { createHash } from 'node:crypto';
import { readTextFile, type TextFileResult } from './read-text-file.ts';
import { type Lookup, readReferencedFiles } from './references.ts';

/** Sources of a configuration: enough to detect later changes. */
export interface ConfigSource {
  /**
   * Files that the configuration refers to with `${file:…}`, and those of the certificate, as far
   * as they are loaded; absolute.
   */
  readonly files: readonly string[];
  /**
   * Files of secrets that are not loaded, and files of the certificate then. Nobody follows them.
   */
  readonly secretFiles: readonly string[];
  /** Over the file and all it refers to. */
  readonly fingerprint: string;
}

const MAX_FILE_BYTES = 1024 * 1024;

export function readConfigText(path: string): Promise<TextFileResult> {
  return readTextFile(path, MAX_FILE_BYTES);
}

export function fingerprint(text: TextFileResult, contents: ReadonlyMap<string, Lookup>): string {
  return createHash('sha256')
    .update(JSON.stringify([text, ...contents]))
    .digest('base64');
}

/**
 * The fingerprint as the files are now. While the configuration's own text is the same, so is the
 * list of files.
 */
export async function currentFingerprint(path: string, files: readonly string[]): Promise<string> {
  return fingerprint(await readConfigText(path), await readReferencedFiles(files));
}
