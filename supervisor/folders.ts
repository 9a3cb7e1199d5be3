import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, rmSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { socketFolderProblem } from '#core/config/socket-folder.ts';

/**
 * Creates the data folder and the socket folder. If the latter is in the shared temporary folder,
 * another user could have created it first, and every process that connects to our sockets would
 * talk to that user. Returns the problem, if any.
 */
export function prepareFolders(paths: Pick<RuntimePaths, 'dataDir' | 'socketDir' | 'envoyDir'>): string | undefined {
  const { dataDir, socketDir, envoyDir } = paths;
  const ourUid = process.getuid?.();
  for (const folder of [dataDir, socketDir, envoyDir]) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      return `The folder ${folder} cannot be made (${error instanceof Error ? error.message : String(error)}). Set GATEWAY_DATA to a folder that can be written.`;
    }
  }
  const problem = socketFolderProblem(paths);
  if (problem !== undefined) return problem;
  const folder = lstatSync(socketDir);
  if (!folder.isDirectory() || (ourUid !== 0 && folder.uid !== ourUid)) {
    return `${socketDir} belongs to another user: remove it, or set GATEWAY_DATA to another folder.`;
  }
  if (ourUid === 0 && dirname(socketDir) === dataDir) takeBack(socketDir, folder, lstatSync(dataDir));
  chmodSync(socketDir, 0o700);
  return undefined;
}

/** Takes the socket folder back from PostgreSQL's user, who could replace Envoy's sockets. */
function takeBack(socketDir: string, folder: Stats, { uid, gid }: Stats): void {
  if (folder.uid === uid) return;
  chownSync(socketDir, uid, gid);
  for (const name of readdirSync(socketDir)) {
    const path = join(socketDir, name);
    if (![0, uid].includes(lstatSync(path).uid)) rmSync(path, { recursive: true, force: true });
  }
}
