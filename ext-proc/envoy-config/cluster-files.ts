import { chmod, mkdir, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { type Clusters, usedProviders } from './clusters.ts';
import { credentialsFile, credentialsFolder, credentialsPath } from './provider-auth-filters.ts';
import { clusterOf, trustedCaFolder, trustedCaPath } from './provider-cluster.ts';
import { replaceFile } from './replace-file.ts';

/**
 * Files in Envoy's folder that clusters name: bundles of CAs as they were read, and the credentials
 * that Envoy itself uses. Only this user can read credentials, and Envoy's admin shows none.
 */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Writes the files. Has to be called before the clusters are written. */
export async function writeClusterFiles(config: GatewayConfig, folder: string): Promise<void> {
  const parent = credentialsFolder(folder);
  const bundles = new Map<string, string>();
  for (const provider of usedProviders(config)) {
    const { credentials, trustedCa } = provider;
    if (trustedCa) bundles.set(trustedCaPath(folder, trustedCa), trustedCa.pem);
    if (credentials === undefined) continue;
    const cluster = clusterOf(provider);
    await mkdir(parent, { recursive: true, mode: FOLDER_MODE });
    // The folder may have been made with a less strict mode.
    await chmod(parent, FOLDER_MODE);
    await replaceFile(credentialsPath(folder, cluster), credentialsFile(cluster, credentials), FILE_MODE);
  }
  for (const [path, pem] of bundles) await replaceFile(path, pem);
}

export async function deleteUnnamedFiles(clusters: Clusters, folder: string): Promise<void> {
  const named = JSON.stringify([...clusters.values()]);
  for (const parent of [credentialsFolder(folder), trustedCaFolder(folder)]) {
    const paths = (await readdir(parent).catch(() => [])).map((name) => join(parent, name));
    for (const path of paths) if (!named.includes(JSON.stringify(path))) await unlink(path);
  }
}
