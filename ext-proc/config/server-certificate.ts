import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readTextFile } from './read-text-file.ts';

const MAX_PEM_BYTES = 1024 * 1024;

export interface CertificateProblem {
  readonly field: 'certificate' | 'private_key';
  readonly message: string;
}

/** Envoy would refuse to start with a pair that does not fit, and say so only in its own log. Nothing read here is kept. */
export async function checkServerCertificate(certificatePath: string, keyPath: string): Promise<CertificateProblem[]> {
  const [certificate, key] = await Promise.all([readCertificate(certificatePath), readKey(keyPath)]);
  const problems: CertificateProblem[] = [];
  if (typeof certificate === 'string') problems.push({ field: 'certificate', message: certificate });
  if (typeof key === 'string') problems.push({ field: 'private_key', message: key });
  if (typeof certificate === 'string' || typeof key === 'string') return problems;
  if (certificate.checkPrivateKey(key)) return [];
  return [{ field: 'private_key', message: 'does not belong to the certificate' }];
}

/** `undefined`: the file cannot be read as a certificate now. */
export async function certificateExpiryMs(certificatePath: string): Promise<number | undefined> {
  const certificate = await readCertificate(certificatePath);
  return typeof certificate === 'string' ? undefined : certificate.validToDate.getTime();
}

async function readCertificate(path: string): Promise<X509Certificate | string> {
  const file = await readTextFile(path, MAX_PEM_BYTES);
  if (!file.ok) return `cannot be read: ${file.reason}`;
  try {
    return new X509Certificate(file.text);
  } catch {
    return 'must be a PEM file that begins with the server certificate';
  }
}

async function readKey(path: string): Promise<KeyObject | string> {
  const file = await readTextFile(path, MAX_PEM_BYTES);
  if (!file.ok) return `cannot be read: ${file.reason}`;
  try {
    return createPrivateKey(file.text);
  } catch {
    return 'must be a PEM file with an unencrypted private key';
  }
}
