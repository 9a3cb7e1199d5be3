import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';

type Folder = Pick<RuntimePaths, 'chargeLogDir'>;

/**
 * File with the signing key, which only this data folder's processes and operator have. It is with
 * the charge log, because of a pod's data folder only that stays.
 */
export function checkpointKeyPath({ chargeLogDir }: Folder): string {
  return join(chargeLogDir, 'checkpoint-key.pem');
}

/** Reads or creates a data folder's key, the same for all processes. Rejects if unreadable. */
export async function openCheckpointKey(folder: Folder): Promise<KeyObject> {
  const path = checkpointKeyPath(folder);
  const present = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return createPrivateKey(present ?? (await makeKey(path)));
}

/**
 * Writes the key to a temporary file and links it to its name. So no process reads half of it, and
 * of several processes the first one's key stays.
 */
async function makeKey(path: string): Promise<Buffer> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const { privateKey } = generateKeyPairSync('ed25519');
  const temporary = `${path}.${randomUUID()}.tmp`;
  await writeFile(temporary, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flush: true });
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(temporary);
  }
  return readFile(path);
}
