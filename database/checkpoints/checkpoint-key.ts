import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { sharedFile } from '#core/shared-file.ts';

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
  const key = createPrivateKey(await sharedFile(checkpointKeyPath(folder), makeKey));
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('it is not an Ed25519 key');
  return key;
}

function makeKey(): string | Buffer {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
}
