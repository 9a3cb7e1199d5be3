import { stat } from 'node:fs/promises';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { countOf } from '#core/count-of.ts';
import { type Finding, ok, problem, warning } from './check.ts';

export interface SecretPlaces {
  readonly configPath: string;
  /** Files of the configuration: secrets and, with TLS, the private key and certificate. */
  readonly files: readonly string[];
  /** The certificate among these files. It is public. */
  readonly certificatePath: string | undefined;
  readonly paths: Pick<RuntimePaths, 'dataDir' | 'socketDir' | 'probeKey'>;
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
const OTHERS = 0o007;

/** Checks modes of secret files, without group rights, by which containers share files. */
export async function lookAtSecrets(places: SecretPlaces): Promise<readonly Finding[]> {
  const { configPath, files, certificatePath, paths } = places;
  const secretFiles = files.filter((path) => path !== certificatePath);
  const findings = await Promise.all([
    ...[configPath, ...files].map(writable),
    ...[...secretFiles, paths.probeKey].map(readableByAll),
    ...[paths.dataDir, paths.socketDir].map(open),
  ]);
  const found = findings.filter((finding) => finding !== undefined);
  return found.length > 0
    ? found
    : [
        ok(
          'secrets',
          secretFiles.length === 1
            ? '1 file, read by its owner only'
            : `${countOf(secretFiles.length, 'file')}, read by their owners only`,
        ),
      ];
}

async function writable(path: string): Promise<Finding | undefined> {
  if (((await modeOf(path)) & OTHERS_WRITE) === 0) return undefined;
  return problem('secrets', `everybody on this machine can write ${path}`, `chmod o-rwx ${path}`);
}

async function readableByAll(path: string): Promise<Finding | undefined> {
  if (((await modeOf(path)) & OTHERS_READ) === 0) return undefined;
  return warning('secrets', `everybody on this machine can read ${path}`, `chmod o-rwx ${path}`);
}

/** Reports socket folders that all users can enter: they could use Envoy's admin interface. */
async function open(folder: string): Promise<Finding | undefined> {
  if (((await modeOf(folder)) & OTHERS) === 0) return undefined;
  return warning('secrets', `everybody on this machine can enter ${folder}`, `chmod o-rwx ${folder}`);
}

/** Mode of a file, or 0 if it is missing. */
async function modeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ mode }) => mode,
    () => 0,
  );
}
