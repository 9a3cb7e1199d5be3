import type { ProviderAuth, ProviderCredentials } from './gateway-config.ts';
import type { ProviderEntry } from './schema.ts';
import type { Secrets } from './secret-places.ts';

/** Translated bodies are longer: with many short messages up to three times as long. */
const LONGEST_TRANSLATION = 4;

export interface Authorization {
  readonly auth?: ProviderAuth;
  readonly credentials?: ProviderCredentials;
}

/** Authorization of a provider's calls, with the credentials in a process that has secrets. */
export function authOf({ auth }: ProviderEntry, secrets: Secrets, longestRequestBytes: number): Authorization {
  if (auth?.header !== undefined) return { auth: { kind: 'header', name: auth.header.toLowerCase() } };
  if (auth?.aws !== undefined) {
    const { region, service, access_key_id: accessKeyId, secret_access_key, session_token } = auth.aws;
    const longestBodyBytes = longestRequestBytes * LONGEST_TRANSLATION;
    const way = { auth: { kind: 'aws', region, service, longestBodyBytes } } as const;
    if (secrets !== 'gateway' || accessKeyId === undefined || secret_access_key === undefined) return way;
    const token = session_token === undefined ? {} : { sessionToken: session_token };
    return { ...way, credentials: { kind: 'aws', accessKeyId, secretAccessKey: secret_access_key, ...token } };
  }
  if (auth?.oauth2 !== undefined) {
    const { token_url: tokenUrl, client_id: id, client_secret: secret, scopes } = auth.oauth2;
    const way = { auth: { kind: 'oauth2', tokenUrl, scopes } } as const;
    if (secrets !== 'gateway' || id === undefined || secret === undefined) return way;
    return { ...way, credentials: { kind: 'oauth2', id, secret } };
  }
  return {};
}
