import { hash, X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { exists } from '../exists.ts';
import type { CaBundle } from './gateway-config.ts';
import { readTextFile } from './read-text-file.ts';

/** Bundles of the certificates that Linux distributions and macOS trust. */
const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

const MAX_BUNDLE_BYTES = 4 * 1024 * 1024;

type Environment = Readonly<Record<string, string | undefined>>;

export type TrustedCa =
  /** `problem`: the bundle cannot be used now, and this is the former one. */
  | { readonly ok: true; readonly bundle: CaBundle; readonly problem?: string }
  | { readonly ok: false; readonly reason: string };

/** Bundles, the first usable of which counts. */
export function caBundles({ SSL_CERT_FILE: named }: Environment): readonly string[] {
  return named ? [resolve(named)] : SYSTEM_BUNDLES;
}

/** Differs after a change of a bundle. They are large, so they are not read for this. */
export async function stateOfBundles(paths: readonly string[]): Promise<string> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  return found.map((one) => one && [one.ino, one.size, one.mtimeMs, one.ctimeMs]).join(' ');
}

/**
 * Authorities for the certificates of https providers: `SSL_CERT_FILE`, or else the system's
 * bundle. As in other programs, `SSL_CERT_FILE` replaces the system's bundle, so an operator with a
 * private CA appends it to a copy.
 */
export async function findTrustedCa(env: Environment, paths = caBundles(env)): Promise<TrustedCa> {
  let reason = 'no CA certificates found; install ca-certificates or set SSL_CERT_FILE';
  for (const path of paths) {
    const found = await readBundle(path);
    if (found.ok) return found;
    if (env.SSL_CERT_FILE) reason = `SSL_CERT_FILE: ${found.reason}`;
    else if (await exists(path)) reason = `${path}: ${found.reason}`;
  }
  return { ok: false, reason };
}

/** By path, the bundles that this process could use last. */
const usable = new Map<string, CaBundle>();

/** A bundle that cannot be used, such as while a program renews it, is still the former one. */
export async function readBundle(path: string): Promise<TrustedCa> {
  const former = usable.get(path);
  const file = await readTextFile(path, MAX_BUNDLE_BYTES);
  if (file.ok && file.text === former?.pem) return { ok: true, bundle: former };
  const read = file.ok ? checkBundle(file.text) : file;
  if (read.ok) usable.set(path, read.bundle);
  return read.ok || former === undefined ? read : { ok: true, bundle: former, problem: read.reason };
}

/**
 * Envoy refuses a bundle with a block that it cannot read, and all other changes with it. As there,
 * a block begins at the start of a line.
 */
function checkBundle(pem: string): TrustedCa {
  const blocks = pem.split(/^(?=-----BEGIN )/m).filter((part) => part.startsWith('-----BEGIN '));
  if (blocks.length === 0) return { ok: false, reason: 'it holds no PEM certificate' };
  const certificates = blocks.map(certificateIn);
  const unread = certificates.indexOf(undefined);
  if (unread >= 0) return { ok: false, reason: `its PEM block ${unread + 1} is not a certificate that can be read` };
  const isInDate = certificates.some((one) => one && one.validToDate.getTime() > Date.now());
  if (!isInDate) return { ok: false, reason: 'all of its certificates have expired' };
  return { ok: true, bundle: { pem, digest: hash('sha256', pem) } };
}

function certificateIn(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block);
  } catch {
    return undefined;
  }
}
