import { createPrivateKey, KeyObject, X509Certificate } from 'node:crypto';
import { readBytes, readTextFile, type UnreadFile } from './read-text-file.ts';

const MAX_PEM_BYTES = 1024 * 1024;

export interface CertificateProblem {
  readonly field: 'certificate' | 'private_key';
  readonly message: string;
  /** True if this user may not read the file. */
  readonly forbidden?: true;
}

/**
 * Checks certificate and key. If they did not match, Envoy would refuse to start, with a message
 * only in its own log. Nothing that is read here is kept, and the key is overwritten.
 */
export async function checkServerCertificate(certificatePath: string, keyPath: string): Promise<CertificateProblem[]> {
  const [certificate, key] = await Promise.all([readCertificate(certificatePath), readKey(keyPath)]);
  const problems: CertificateProblem[] = [];
  if (!(certificate instanceof X509Certificate)) problems.push({ field: 'certificate', ...certificate });
  if (!(key instanceof KeyObject)) problems.push({ field: 'private_key', ...key });
  if (!(certificate instanceof X509Certificate && key instanceof KeyObject)) return problems;
  if (certificate.checkPrivateKey(key)) return [];
  return [{ field: 'private_key', message: 'does not belong to the certificate' }];
}

type Unusable = Omit<CertificateProblem, 'field'>;

async function readCertificate(path: string): Promise<X509Certificate | Unusable> {
  const file = await readTextFile(path, MAX_PEM_BYTES);
  if (!file.ok) return unreadable(file);
  try {
    return new X509Certificate(file.text);
  } catch {
    return { message: 'must be a PEM file that begins with the server certificate' };
  }
}

async function readKey(path: string): Promise<KeyObject | Unusable> {
  const file = await readBytes(path, MAX_PEM_BYTES);
  if (!file.ok) return unreadable(file);
  try {
    return createPrivateKey(file.bytes);
  } catch {
    return { message: 'must be a PEM file with an unencrypted private key' };
  } finally {
    file.bytes.fill(0);
  }
}

function unreadable({ reason, forbidden }: UnreadFile): Unusable {
  return { message: `cannot be read: ${reason}`, ...(forbidden ? { forbidden } : {}) };
}
