import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
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

export type TrustedCa =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly reason: string; readonly path?: string };

/**
 * Authorities for the certificates of https providers: `SSL_CERT_FILE`, or else the system's
 * bundle. As in other programs, `SSL_CERT_FILE` replaces the system's bundle, so an operator with a
 * private CA appends it to a copy.
 */
export async function findTrustedCa(env: Readonly<Record<string, string | undefined>>): Promise<TrustedCa> {
  const named = env.SSL_CERT_FILE;
  if (named !== undefined && named !== '') {
    const path = resolve(named);
    const reason = await whyNoBundle(path);
    return reason === undefined ? { ok: true, path } : { ok: false, reason: `SSL_CERT_FILE: ${reason}`, path };
  }
  for (const path of SYSTEM_BUNDLES) {
    if ((await whyNoBundle(path)) === undefined) return { ok: true, path };
  }
  return { ok: false, reason: 'no CA certificates found; install ca-certificates or set SSL_CERT_FILE' };
}

async function whyNoBundle(path: string): Promise<string | undefined> {
  const file = await readTextFile(path, MAX_BUNDLE_BYTES);
  if (!file.ok) return file.reason;
  try {
    new X509Certificate(file.text);
    return undefined;
  } catch {
    return 'it holds no PEM certificate';
  }
}
