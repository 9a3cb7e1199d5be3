import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RuntimePaths } from './runtime-paths.ts';

const OTHERS_WRITE = 0o022;

/**
 * Describes the problem if another user owns the socket folder. If the data folder has a long path,
 * the socket folder is in the temporary folder, where everybody could have created it first. A
 * missing folder is not a problem.
 */
export function socketFolderProblem({
  dataDir,
  socketDir,
}: Pick<RuntimePaths, 'dataDir' | 'socketDir'>): string | undefined {
  if (dirname(socketDir) === dataDir) return undefined;
  const folder = lstatSync(socketDir, { throwIfNoEntry: false });
  if (folder === undefined) return undefined;
  const owners = [process.getuid?.(), lstatSync(dataDir, { throwIfNoEntry: false })?.uid];
  if (folder.isDirectory() && owners.includes(folder.uid) && (folder.mode & OTHERS_WRITE) === 0) return undefined;
  return `${socketDir} belongs to another user, or others can write to it: remove it, or set GATEWAY_DATA to another folder.`;
}
