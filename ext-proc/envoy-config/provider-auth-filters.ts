import { scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AwsCredentials, OAuth2Auth, ProviderCredentials } from '#core/config/gateway-config.ts';
import type { Authorization } from '#core/config/provider-auth.ts';
import type { EnvoyJson } from './envoy-json.ts';

/**
 * Filters of a provider's cluster with which Envoy adds the authorization to each request that it
 * sends (docs/design.md, "Authorization by Envoy").
 */

const SECRET_TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
const TOKEN_SCRIPT = readFileSync(new URL('../../envoy/token-endpoint.lua', import.meta.url), 'utf8');
/** Envoy calls the token endpoint again after this time when it got no token. */
const TOKEN_RETRY = '1s';
const TOKEN_TIMEOUT = '5s';

export function tokenClusterName(cluster: string): string {
  return `${cluster}-token`;
}

/** `folder`, here and below: Envoy's. */
export function credentialsFolder(folder: string): string {
  return join(folder, 'credentials');
}

export function credentialsPath(folder: string, cluster: string): string {
  return join(credentialsFolder(folder), cluster);
}

/** Filters in front of the codec, in the order in which a request passes them. */
export function authFilters(cluster: string, { auth, credentials }: Authorization, folder: string): EnvoyJson[] {
  const path = credentialsPath(folder, cluster);
  switch (auth?.kind) {
    case 'aws':
      return [
        // Bounds the body. Without it the bound would be the buffer of Envoy's egress listener.
        filter('buffer', 'buffer.v3.Buffer', { max_request_bytes: auth.longestBodyBytes }),
        filter('aws_request_signing', 'aws_request_signing.v3.AwsRequestSigning', {
          service_name: auth.service,
          region: auth.region,
          ...(credentials?.kind === 'aws' ? { credential_provider: awsCredentials(path) } : {}),
        }),
      ];
    case 'oauth2':
      if (credentials?.kind !== 'oauth2') return [];
      return [
        filter('credential_injector', 'credential_injector.v3.CredentialInjector', {
          overwrite: true,
          credential: {
            name: 'envoy.http.injected_credentials.oauth2',
            typed_config: injectedToken(cluster, auth, credentials.id, path),
          },
        }),
      ];
    default:
      return [];
  }
}

export function tokenFilters(): EnvoyJson[] {
  return [filter('lua', 'lua.v3.Lua', { default_source_code: { inline_string: TOKEN_SCRIPT } })];
}

/** Adds the codec, which has to be a cluster's last filter. */
export function withCodec(filters: readonly EnvoyJson[]): EnvoyJson {
  if (filters.length === 0) return {};
  return { http_filters: [...filters, filter('upstream_codec', 'upstream_codec.v3.UpstreamCodec', {})] };
}

function filter(name: string, type: string, config: EnvoyJson): EnvoyJson {
  const typed_config = { '@type': `type.googleapis.com/envoy.extensions.filters.http.${type}`, ...config };
  return { name: `envoy.filters.http.${name}`, typed_config };
}

function awsCredentials(path: string): EnvoyJson {
  return {
    custom_credential_provider_chain: true,
    credentials_file_provider: { credentials_data_source: { filename: path } },
  };
}

function injectedToken(cluster: string, { tokenUrl, scopes }: OAuth2Auth, clientId: string, path: string): EnvoyJson {
  return {
    '@type': 'type.googleapis.com/envoy.extensions.http.injected_credentials.oauth2.v3.OAuth2',
    token_endpoint: { uri: tokenUrl.href, cluster: tokenClusterName(cluster), timeout: TOKEN_TIMEOUT },
    ...(scopes.length === 0 ? {} : { scopes }),
    token_fetch_retry_interval: TOKEN_RETRY,
    client_credentials: {
      client_id: clientId,
      client_secret: { name: cluster, sds_config: { resource_api_version: 'V3', path_config_source: { path } } },
      auth_type: 'URL_ENCODED_BODY',
    },
  };
}

export function credentialsFile(cluster: string, credentials: ProviderCredentials): string {
  if (credentials.kind === 'aws') return awsProfile(credentials);
  const secret = { generic_secret: { secret: { inline_string: credentials.secret } } };
  return JSON.stringify({ resources: [{ '@type': SECRET_TYPE, name: cluster, ...secret }] });
}

function awsProfile({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials): string {
  const lines = ['[default]', `aws_access_key_id=${accessKeyId}`, `aws_secret_access_key=${secretAccessKey}`];
  if (sessionToken !== undefined) lines.push(`aws_session_token=${sessionToken}`);
  return `${lines.join('\n')}\n`;
}

/** Makes a guess cost about 10 ms, because metrics show the names of clusters. */
const DIGEST_COST = 4096;

/** Distinguishes credentials in the name of a cluster. */
export function credentialsDigest(credentials: ProviderCredentials): string {
  return scryptSync(JSON.stringify(credentials), 'cluster', 16, { N: DIGEST_COST }).toString('hex');
}
