import { execFile } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

/**
 * PostgreSQL refuses to run as root. As root it therefore runs as somebody else: as the owner of its folder, else as user 1000 of a
 * user namespace (outside it stays root, so that every path stays reachable and nothing changes owner), else as the owner of the data
 * folder or as `nobody`.
 */
export interface PostgresAccount {
  readonly name: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Put before every command. `unshare` replaces itself by the command, so that the process id stays the one we signal. */
  readonly prefix: readonly string[];
}

const AS_OURSELVES: PostgresAccount = { name: 'the current user', prefix: [] };
const IN_USER_NAMESPACE: PostgresAccount = {
  name: 'user 1000 of a user namespace',
  prefix: ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'],
};
const NOBODY = 65_534;
const PROBE_TIMEOUT_MS = 5_000;

export interface AccountFolders {
  /** May not exist yet. */
  readonly postgresDir: string;
  /** Folder of all sockets of the gateway: ours alone, where PostgreSQL runs as somebody else. */
  readonly socketDir: string;
  readonly binary: string;
}

/** PostgreSQL's own sockets. Another user's lie beside those of the gateway, which he could replace in a folder that he can write to. */
export function postgresSocketDir({ socketDir }: Pick<AccountFolders, 'socketDir'>, { uid }: PostgresAccount): string {
  return uid === undefined ? socketDir : `${socketDir}-postgres`;
}

/** Rejects with a message for the operator when nobody can run PostgreSQL here. */
export async function choosePostgresAccount(
  folders: AccountFolders,
  ourUid = process.getuid?.(),
): Promise<PostgresAccount> {
  const owner = existsSync(folders.postgresDir) ? statSync(folders.postgresDir).uid : undefined;
  if (ourUid !== 0) {
    if (owner === undefined || owner === ourUid) return AS_OURSELVES;
    throw new Error(
      `The database in ${folders.postgresDir} belongs to user ${owner}: start the gateway as that user, or set GATEWAY_DATA to another folder.`,
    );
  }
  const tried: string[] = [];
  for (const account of candidates(owner, statSync(dirname(folders.postgresDir)).uid)) {
    const problem = await problemWith(account, folders);
    if (problem === undefined) return account;
    tried.push(`as ${account.name}: ${problem}`);
  }
  throw new Error(
    `PostgreSQL does not run as root, and nobody else can run it here (${tried.join('; ')}). Start the gateway as an ordinary user, put it in a folder that other users can reach, or set DATABASE_URL.`,
  );
}

function candidates(owner: number | undefined, dataOwner: number): readonly PostgresAccount[] {
  if (owner !== undefined && owner !== 0) return [userAccount(owner)];
  const others = [...new Set([dataOwner, NOBODY])].filter((uid) => uid !== 0).map(userAccount);
  return [IN_USER_NAMESPACE, ...others];
}

function userAccount(uid: number): PostgresAccount {
  return { name: `user ${uid}`, uid, gid: uid, prefix: [] };
}

async function problemWith(account: PostgresAccount, folders: AccountFolders): Promise<string | undefined> {
  const parent = dirname(folders.postgresDir);
  const script =
    '[ -x "$1" ] || exit 11; [ -x "$2" ] || exit 12; [ -x "$3" ] || exit 13; "$1" --version >/dev/null || exit 14';
  const sockets = postgresSocketDir(folders, account);
  const command = accountCommand(account, '/bin/sh', ['-c', script, 'sh', folders.binary, parent, sockets]);
  if (account.uid !== undefined) {
    // That user has to get through to its own folders, and no further: what else lies there is closed to it.
    chmodSync(parent, statSync(parent).mode | 0o011);
    const found = ownFolder(sockets, account.uid);
    if (found !== undefined) return found;
    handOver(account, [sockets]);
  }
  const env = { PATH: process.env.PATH };
  try {
    await promisify(execFile)(command.file, command.args, { ...command.ids, env, cwd: '/', timeout: PROBE_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 11) return `${folders.binary} is out of reach`;
    if (code === 12) return `${parent} is out of reach`;
    if (code === 13) return `${sockets} is out of reach`;
    return code === 14 ? 'the server binary does not run' : `not allowed here (${String(code)})`;
  }
}

/** In the temporary folder somebody else may have made one with that name. */
function ownFolder(path: string, uid: number): string | undefined {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const folder = lstatSync(path);
  return folder.isDirectory() && [0, uid].includes(folder.uid) ? undefined : `${path} belongs to another user`;
}

/** Makes what PostgreSQL writes to its own. Nothing to do where it runs with our own user id. */
export function handOver(account: PostgresAccount, folders: readonly string[]): void {
  if (account.uid === undefined || account.gid === undefined) return;
  for (const folder of folders) chownSync(folder, account.uid, account.gid);
}

export function accountCommand(
  account: PostgresAccount,
  binary: string,
  args: readonly string[],
): { file: string; args: string[]; ids: { uid?: number; gid?: number } } {
  const [file = binary, ...rest] = [...account.prefix, binary, ...args];
  const ids = account.uid === undefined || account.gid === undefined ? {} : { uid: account.uid, gid: account.gid };
  return { file, args: rest, ids };
}
