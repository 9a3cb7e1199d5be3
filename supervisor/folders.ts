import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import type { RuntimePaths } from '../ext-proc/config/runtime-paths.ts';

/**
 * Makes the data folder and the socket folder. The latter may lie in the shared temporary folder, where another user could have put one
 * with our name: then every process that connects to our sockets would talk to that user. Returns the problem, if any.
 */
export function prepareFolders(paths: Pick<RuntimePaths, 'dataDir' | 'socketDir' | 'envoyDir'>): string | undefined {
  const ourUid = process.getuid?.();
  for (const folder of [paths.dataDir, paths.socketDir, paths.envoyDir]) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      return `The folder ${folder} cannot be made (${error instanceof Error ? error.message : String(error)}). Set GATEWAY_DATA to a folder that can be written.`;
    }
  }
  const socketDir = lstatSync(paths.socketDir);
  // Root may have handed it over to the user that PostgreSQL runs as.
  if (!socketDir.isDirectory() || (ourUid !== 0 && socketDir.uid !== ourUid)) {
    return `${paths.socketDir} belongs to another user: remove it, or set GATEWAY_DATA to another folder.`;
  }
  chmodSync(paths.socketDir, 0o700);
  return undefined;
}
