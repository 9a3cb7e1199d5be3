import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** File with the signing key, which only this data folder's processes and operator have. */
const FILE = 'checkpoint-key.pem';

export function checkpointKeyPath(dataDir: string): string {
  return join(dataDir, FILE);
}

/** Reads or creates a data folder's key, the same for all processes. Rejects if unreadable. */
export async function openCheckpointKey(dataDir: string): Promise<KeyObject> {
  const path = checkpointKeyPath(dataDir);
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
