import { describe, expect, test } from 'vitest';
import { credentialsFile } from './provider-auth-filters.ts';
import { type ClusterSource, clusterName, providerClusters } from './provider-cluster.ts';

/** The clusters of providers whose requests Envoy authorizes. */

const AWS: ClusterSource = {
  baseUrl: new URL('https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1'),
  trustedCa: { pem: '', digest: 'd' },
  auth: { kind: 'aws', region: 'eu-central-1', service: 'bedrock', longestBodyBytes: 4096 },
  credentials: { kind: 'aws', accessKeyId: 'AKID', secretAccessKey: 'aws-sentinel' },
};
const OAUTH2: ClusterSource = {
  baseUrl: new URL('http://provider.example/v1'),
  trustedCa: { pem: '', digest: 'd' },
  auth: { kind: 'oauth2', tokenUrl: new URL('https://login.example:8443/t?a=b'), scopes: ['a', 'b'] },
  credentials: { kind: 'oauth2', id: 'me', secret: 'oauth2-sentinel' },
};

function filtersOf(endpoint: ClusterSource, index = 0): { name: string; typed_config: object }[] {
  const options = providerClusters('p', endpoint, '/envoy')[index]?.typed_extension_protocol_options;
  return JSON.parse(JSON.stringify(Object.values(Object(options))[0])).http_filters;
}

describe('a provider of AWS', () => {
  test('has its requests signed as they are sent, up to the longest body', () => {
    expect(filtersOf(AWS).map(({ name }) => name.replace('envoy.filters.http.', ''))).toEqual([
      'buffer',
      'aws_request_signing',
      'upstream_codec',
    ]);
    expect(filtersOf(AWS)[0]?.typed_config).toMatchObject({ max_request_bytes: 4096 });
    expect(filtersOf(AWS)[1]?.typed_config).toMatchObject({
      region: 'eu-central-1',
      service_name: 'bedrock',
      credential_provider: {
        custom_credential_provider_chain: true,
        credentials_file_provider: { credentials_data_source: { filename: '/envoy/credentials/p' } },
      },
    });
  });

  test("without credentials has those of Envoy's environment", () => {
    const { credentials: _, ...endpoint } = AWS;
    expect(filtersOf(endpoint)[1]?.typed_config).not.toHaveProperty('credential_provider');
  });

  test('has a profile as its file', () => {
    const credentials = { kind: 'aws', accessKeyId: 'A', secretAccessKey: 's=', sessionToken: 't' } as const;
    expect(credentialsFile('p', credentials)).toBe(
      '[default]\naws_access_key_id=A\naws_secret_access_key=s=\naws_session_token=t\n',
    );
  });
});

describe('a provider of OAuth2', () => {
  test('has a token in each request, and a cluster for its token endpoint', () => {
    const [, tokens] = providerClusters('p', OAUTH2, '/envoy');
    expect(tokens).toMatchObject({
      name: 'p-token',
      transport_socket: { typed_config: { sni: 'login.example' } },
    });
    expect(JSON.stringify(tokens)).toContain('"san_type":"DNS","matcher":{"exact":"login.example"}');
    expect(JSON.stringify(tokens)).toContain('"port_value":8443');
    expect(filtersOf(OAUTH2)[0]?.typed_config).toMatchObject({
      credential: {
        typed_config: {
          token_endpoint: { uri: 'https://login.example:8443/t?a=b', cluster: 'p-token' },
          scopes: ['a', 'b'],
          client_credentials: {
            client_id: 'me',
            client_secret: { name: 'p', sds_config: { path_config_source: { path: '/envoy/credentials/p' } } },
          },
        },
      },
    });
  });
});

describe('the name of the cluster', () => {
  test.each([
    ['region', AWS, { auth: { ...AWS.auth, region: 'us-east-1' } }],
    ['secret', AWS, { credentials: { ...AWS.credentials, secretAccessKey: 'other' } }],
    ['client secret', OAUTH2, { credentials: { ...OAUTH2.credentials, secret: 'other' } }],
    ['bundle of CAs', OAUTH2, { trustedCa: { pem: '', digest: 'other' } }],
    ['token endpoint', OAUTH2, { auth: { ...OAUTH2.auth, tokenUrl: new URL('https://login.example/') } }],
  ])('is another one for another %s', (_, endpoint, change) => {
    expect(clusterName('p', { ...endpoint, ...(change as object) })).not.toBe(clusterName('p', endpoint));
    expect(clusterName('p', { ...endpoint })).toBe(clusterName('p', endpoint));
  });

  test('has no secret, and neither has the cluster', () => {
    for (const endpoint of [AWS, OAUTH2])
      expect(clusterName('p', endpoint) + JSON.stringify(providerClusters('p', endpoint, '/s'))).not.toContain(
        'sentinel',
      );
  });
});
