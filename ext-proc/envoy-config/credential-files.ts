import { chmod, mkdir, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { type Clusters, usedProviders } from './clusters.ts';
import { credentialsFile, credentialsPath } from './provider-auth-filters.ts';
import { clusterOf } from './provider-cluster.ts';
import { replaceFile } from './replace-file.ts';

/**
 * Files with the credentials that Envoy itself uses, one for each cluster and named like it. Only
 * this user can read them, and Envoy's admin shows none.
 */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Writes the files. Has to be called before the clusters are written. */
export async function writeCredentials(config: GatewayConfig, folder: string): Promise<void> {
  const files = usedProviders(config).flatMap((provider): [path: string, text: string][] => {
    const { credentials } = provider;
    const cluster = clusterOf(provider);
    return credentials ? [[credentialsPath(folder, cluster), credentialsFile(cluster, credentials)]] : [];
  });
  if (files.length === 0) return;
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // The folder may have been made with a less strict mode.
  await chmod(folder, FOLDER_MODE);
  for (const [path, text] of files) await replaceFile(path, text, FILE_MODE);
}

/** Deletes the files of clusters that Envoy no longer has. */
export async function deleteCredentialsExcept(clusters: Clusters, folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!clusters.has(name)) await unlink(join(folder, name));
  }
}
