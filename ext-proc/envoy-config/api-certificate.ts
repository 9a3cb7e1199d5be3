import { join } from 'node:path';
import type { ListenConfig } from '#core/config/gateway-config.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { checkServerCertificate } from '#core/config/server-certificate.ts';
import { currentFingerprint } from '#core/config/source.ts';
import { replaceFile } from './replace-file.ts';

type Tls = NonNullable<ListenConfig['tls']>;

export const TLS_SECRET = 'ingress';

export function tlsSecretPath(paths: RuntimePaths): string {
  return join(paths.envoyDir, 'tls.json');
}

/** Has Envoy read certificate and key: it does so after each rename in its own folder. */
export function writeTlsSecret(tls: Tls, paths: RuntimePaths): Promise<void> {
  const secret = {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
    name: TLS_SECRET,
    tls_certificate: {
      certificate_chain: { filename: tls.certificatePath },
      private_key: { filename: tls.privateKeyPath },
      // In the folder of the files themselves Envoy would notice renames alone. Programs that renew
      // certificates also write in place, or remove a link and make it again.
      watched_directory: { path: paths.envoyDir },
    },
  };
  return replaceFile(tlsSecretPath(paths), JSON.stringify({ resources: [secret] }));
}

/** Each call has Envoy read certificate and key if they changed since the last one, and match. */
export function createCertificateRenewal(tls: Tls, paths: RuntimePaths): () => Promise<void> {
  let read = '';
  return async () => {
    const found = await currentFingerprint(tls.certificatePath, { files: [tls.privateKeyPath], caBundles: [] });
    if (found === read || (await checkServerCertificate(tls.certificatePath, tls.privateKeyPath)).length > 0) return;
    await writeTlsSecret(tls, paths);
    read = found;
  };
}
