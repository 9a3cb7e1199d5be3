import { stat } from 'node:fs/promises';
import type { RuntimePaths } from '../ext-proc/config/runtime-paths.ts';
import { type Finding, ok, problem, warning } from './doctor-check.ts';

export interface SecretPlaces {
  readonly configPath: string;
  /** Files whose content is secret: what the configuration refers to, and private keys. */
  readonly secretFiles: readonly string[];
  readonly paths: Pick<RuntimePaths, 'dataDir' | 'socketDir' | 'probeKey'>;
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
const OTHERS = 0o007;

/** Who may read what is secret on this machine. The group is not minded: containers share their files that way. */
export async function lookAtSecrets({ configPath, secretFiles, paths }: SecretPlaces): Promise<readonly Finding[]> {
  const findings = await Promise.all([
    writable(configPath),
    ...secretFiles.flatMap((path) => [writable(path), readableByAll(path)]),
    readableByAll(paths.probeKey),
    ...[paths.dataDir, paths.socketDir].map(open),
  ]);
  const found = findings.filter((finding) => finding !== undefined);
  return found.length > 0 ? found : [ok('secrets', `${secretFiles.length} files, read by their owners only`)];
}

async function writable(path: string): Promise<Finding | undefined> {
  if (((await modeOf(path)) & OTHERS_WRITE) === 0) return undefined;
  return problem('secrets', `everybody on this machine can write ${path}`, `chmod o-rwx ${path}`);
}

async function readableByAll(path: string): Promise<Finding | undefined> {
  if (((await modeOf(path)) & OTHERS_READ) === 0) return undefined;
  return warning('secrets', `everybody on this machine can read ${path}`, `chmod o-rwx ${path}`);
}

/** Whoever gets to the sockets can speak to Envoy's admin and to providers. */
async function open(folder: string): Promise<Finding | undefined> {
  if (((await modeOf(folder)) & OTHERS) === 0) return undefined;
  return warning('secrets', `everybody on this machine can enter ${folder}`, `chmod o-rwx ${folder}`);
}

/** What is not there is nobody's to read. */
async function modeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ mode }) => mode,
    () => 0,
  );
}
