import { createHash } from 'node:crypto';
import { readTextFile, type TextFileResult } from './read-text-file.ts';
import { type Lookup, readReferencedFiles } from './references.ts';
import { stateOfBundles } from './trusted-ca.ts';

/** Files of a configuration, with enough to detect later changes. */
export interface ConfigSource {
  /** Absolute paths of loaded files: those of `${file:…}`, and those of the certificate. */
  readonly files: readonly string[];
  /**
   * Files of secrets that this process does not load. In other processes than the gateway also
   * those of the certificate. Their changes are ignored.
   */
  readonly secretFiles: readonly string[];
  /** Bundles of CA certificates that may be used. */
  readonly caBundles: readonly string[];
  /** Covers the file, all files that it refers to, and the bundles. */
  readonly fingerprint: string;
}

const MAX_FILE_BYTES = 1024 * 1024;

export function readConfigText(path: string): Promise<TextFileResult> {
  return readTextFile(path, MAX_FILE_BYTES);
}

export function fingerprint(text: TextFileResult, contents: ReadonlyMap<string, Lookup>, bundles = ''): string {
  return createHash('sha256')
    .update(JSON.stringify([text, bundles, ...contents]))
    .digest('base64');
}

/** Current fingerprint of the files. Their list is the same while the configuration's text is. */
export async function currentFingerprint(
  path: string,
  { files, caBundles }: Pick<ConfigSource, 'files' | 'caBundles'>,
): Promise<string> {
  return fingerprint(await readConfigText(path), await readReferencedFiles(files), await stateOfBundles(caBundles));
}
