import { chmod, chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Environment, loadConfig } from '#core/config/load.ts';
import { formatProblem } from '#core/config/problem.ts';
import { readTextFile } from '#core/config/read-text-file.ts';
import { type EditOptions, editConfiguration } from './configuration-edit.ts';
import type { Entries } from './import-entries.ts';

export type Written =
  | { readonly ok: true; readonly changes: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] };

export interface WriteOptions extends EditOptions {
  readonly path: string;
  readonly env: Environment;
}

const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * Adds entries to the configuration file. The new text is loaded before it replaces the old one, so
 * that a running gateway never sees a file that it would refuse.
 */
export async function writeEntries(entries: Entries, { path, env, ...options }: WriteOptions): Promise<Written> {
  const place = await realpath(path).catch(() => path);
  const file = await readTextFile(place, MAX_FILE_BYTES);
  if (!file.ok) return { ok: false, problems: [`${path} cannot be read: ${file.reason}`] };
  const edit = editConfiguration(file.text, entries, options);
  if (!edit.ok) return edit;
  // The draft is in the same folder, because references to files are relative to it.
  const draft = join(dirname(place), `.import-${process.pid}.yaml`);
  try {
    await writeFile(draft, edit.text, { flag: 'wx', mode: 0o600 });
    const loaded = await loadConfig(draft, env, { secrets: 'checked' });
    if (!loaded.ok) {
      return { ok: false, problems: loaded.problems.map((problem) => formatProblem({ ...problem, file: path })) };
    }
    // Keeps owner and mode, so that a gateway process of another user can still read the file.
    const { mode, uid, gid } = await stat(place);
    await chown(draft, uid, gid);
    await chmod(draft, mode);
    await rename(draft, place);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return { ok: false, problems: [`${path} cannot be written: ${error.message}`] };
  } finally {
    await rm(draft, { force: true });
  }
  return { ok: true, changes: edit.changes };
}
