import { execFile } from 'node:child_process';
import { chmodSync, existsSync, lchownSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type ChildUser, endingWithUs } from '../children/child-process.ts';

const NOBODY = 65_534;
const PROBE_TIMEOUT_MS = 5_000;

export interface UserFolders {
  /** The folder may not exist yet. */
  readonly postgresDir: string;
  /** Folder of the gateway's sockets. PostgreSQL's user cannot enter it. */
  readonly socketDir: string;
  readonly binary: string;
}

/**
 * Folder of PostgreSQL's sockets. If PostgreSQL runs as another user, it is separate from the
 * gateway's sockets, which that user could otherwise replace.
 */
export function postgresSocketDir({ socketDir }: Pick<UserFolders, 'socketDir'>, user: ChildUser | undefined): string {
  return user === undefined ? socketDir : `${socketDir}-postgres`;
}

/**
 * Chooses the user for PostgreSQL, which refuses to run as root. Under root it is the owner of its
 * folder, else the owner of the data folder, else `nobody`. `undefined`: our own user. Rejects with
 * a message for the operator if that user cannot run it.
 */
export async function choosePostgresUser(
  folders: UserFolders,
  ourUid = process.getuid?.(),
): Promise<ChildUser | undefined> {
  const owner = existsSync(folders.postgresDir) ? statSync(folders.postgresDir).uid : undefined;
  if (ourUid !== 0) {
    if (owner === undefined || owner === ourUid) return undefined;
    throw new Error(
      `The database in ${folders.postgresDir} belongs to user ${owner}: start the gateway as that user, or set GATEWAY_DATA to another folder.`,
    );
  }
  const parent = dirname(folders.postgresDir);
  const uid = [owner, statSync(parent).uid].find((one) => one !== undefined && one !== 0) ?? NOBODY;
  const closed = await problemOf({ uid, searchesAll: true }, folders);
  if (closed === undefined) return { uid, searchesAll: true };
  // A container may lack the capability. Then the folders must be open to this user.
  chmodSync(parent, statSync(parent).mode | 0o011);
  const open = await problemOf({ uid, searchesAll: false }, folders);
  if (open === undefined) return { uid, searchesAll: false };
  throw new Error(
    `PostgreSQL does not run as root, and user ${uid} cannot run it here (${open}). Start the gateway as an ordinary user, put it in a folder that other users can reach, or set DATABASE_URL.`,
  );
}

async function problemOf(user: ChildUser, folders: UserFolders): Promise<string | undefined> {
  const parent = dirname(folders.postgresDir);
  const sockets = postgresSocketDir(folders, user);
  const found = ownFolder(sockets, user);
  if (found !== undefined) return found;
  const script =
    '[ -x "$1" ] || exit 11; [ -x "$2" ] || exit 12; [ -x "$3" ] || exit 13; "$1" --version >/dev/null || exit 14';
  const args = ['-c', script, 'sh', folders.binary, parent, sockets];
  const command = endingWithUs('KILL', '/bin/sh', args, user);
  const env = { PATH: process.env.PATH };
  try {
    await promisify(execFile)(command.file, command.args, { env, cwd: '/', timeout: PROBE_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 11) return `${folders.binary} is out of reach`;
    if (code === 12) return `${parent} is out of reach`;
    if (code === 13) return `${sockets} is out of reach`;
    return code === 14 ? 'the server binary does not run' : `root may not change its user (${String(code)})`;
  }
}

/** Creates the user's folder. In the temporary folder another user may have made it first. */
function ownFolder(path: string, user: ChildUser): string | undefined {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const folder = lstatSync(path);
  if (!folder.isDirectory() || ![0, user.uid].includes(folder.uid)) return `${path} belongs to another user`;
  handOver(user, [path]);
  return undefined;
}

/** Makes the user the owner of these paths. */
export function handOver(user: ChildUser | undefined, paths: readonly string[]): void {
  if (user === undefined) return;
  for (const path of paths) lchownSync(path, user.uid, user.uid);
}

/** Gives every file of the database to the user: root may have restored or created some. */
export function handOverDatabase(user: ChildUser | undefined, postgresDir: string): void {
  if (user === undefined) return;
  const names = readdirSync(postgresDir, { recursive: true, encoding: 'utf8' });
  const paths = [postgresDir, ...names.map((name) => join(postgresDir, name))];
  handOver(
    user,
    paths.filter((path) => lstatSync(path).uid !== user.uid),
  );
}
