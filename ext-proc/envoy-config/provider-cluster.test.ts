import { describe, expect, test } from 'vitest';
import { type ClusterSource, clusterName, providerCluster } from './provider-cluster.ts';

function endpoint(url: string, digest = 'd1'): ClusterSource {
  return { baseUrl: new URL(url), trustedCa: { pem: 'of all', digest } };
}

describe('the name of a cluster', () => {
  test('is the same for the same content', () => {
    const name = clusterName('openai', endpoint('https://api.example/v1'));
    expect(name).toMatch(/^openai-[0-9a-f]{12}$/);
    expect(clusterName('openai', endpoint('https://api.example/v1'))).toBe(name);
  });

  test('does not change with the path, which the process sends', () => {
    expect(clusterName('p', endpoint('https://api.example/v2'))).toBe(
      clusterName('p', endpoint('https://api.example/v1')),
    );
  });

  test('changes with everything that shapes the connection', () => {
    const names = [
      clusterName('p', endpoint('https://api.example/v1')),
      clusterName('q', endpoint('https://api.example/v1')),
      clusterName('p', endpoint('http://api.example/v1')),
      clusterName('p', endpoint('https://api.example:8443/v1')),
      clusterName('p', endpoint('https://api2.example/v1')),
      clusterName('p', endpoint('https://api.example/v1', 'd2')),
    ];
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the cluster', () => {
  test.each([
    ['https://api.example', 'api.example', 443],
    ['http://api.example', 'api.example', 80],
    ['https://api.example:8443', 'api.example', 8443],
    ['https://[2001:db8::1]:8443', '2001:db8::1', 8443],
    ['http://192.0.2.1:81', '192.0.2.1', 81],
  ])('of %s leads to %s port %i', (url, address, port) => {
    expect(providerCluster('p', endpoint(url))).toMatchObject({
      load_assignment: {
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address, port_value: port } } } }] }],
      },
    });
  });

  test('over https checks name and CA, and offers HTTP/2', () => {
    expect(providerCluster('p', endpoint('https://api.example'), '/envoy')).toMatchObject({
      transport_socket: {
        typed_config: {
          sni: 'api.example',
          common_tls_context: {
            tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
            validation_context: {
              trusted_ca: { filename: '/envoy/trusted-ca/d1.pem' },
              match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: 'api.example' } }],
            },
          },
        },
      },
    });
    expect(JSON.stringify(providerCluster('p', endpoint('https://api.example')))).toContain('auto_config');
  });

  test('of an address has no SNI, and its certificate must name the address', () => {
    const text = JSON.stringify(providerCluster('p', endpoint('https://192.0.2.1')));
    expect(text).not.toContain('"sni"');
    expect(text).toContain('{"san_type":"IP_ADDRESS","matcher":{"exact":"192.0.2.1"}}');
  });

  test.each(['http://localhost:1', 'http://127.0.0.1:1', 'http://127.8.9.1:1', 'http://[::1]:1'])(
    'of %s, the loopback, is never ejected',
    (url) => {
      expect(providerCluster('p', endpoint(url))).not.toHaveProperty('outlier_detection');
    },
  );

  test.each(['http://ollama:1', 'https://api.example', 'http://10.0.0.1', 'http://[2001:db8::1]'])(
    'of %s is ejected for a bounded time',
    (url) => {
      expect(providerCluster('p', endpoint(url))).toMatchObject({
        outlier_detection: { base_ejection_time: '5s', max_ejection_time: '10s', max_ejection_percent: 100 },
        common_lb_config: { healthy_panic_threshold: { value: 0 } },
      });
    },
  );
});

describe('the cluster of several endpoints', () => {
  const urls = ['https://vllm-0.example:8443/v1', 'https://192.0.2.1/v1'].map((url) => new URL(url));
  const several = { ...endpoint('https://vllm-0.example:8443/v1'), endpoints: urls };

  test('has a name that selects its route', () => {
    expect(clusterName('vllm', several)).toMatch(/^vllm-[0-9a-f]{12}-endpoints$/);
    expect(clusterName('vllm', { ...several, endpoints: urls.slice(1) })).not.toBe(clusterName('vllm', several));
  });

  test('sends each request to the one with fewer open requests, and ejects a dead one soon, even on the loopback', () => {
    const cluster = { lb_policy: 'LEAST_REQUEST', outlier_detection: { consecutive_local_origin_failure: 5 } };
    expect(providerCluster('p', several)).toMatchObject(cluster);
    const local = { ...endpoint('http://127.0.0.1:1'), endpoints: [new URL('http://127.0.0.1:1')] };
    expect(providerCluster('p', local)).toMatchObject({ ...cluster, type: 'STATIC' });
  });

  test('has every address of a name, with the certificate of its own host', () => {
    const text = JSON.stringify(providerCluster('p', several));
    expect(text).not.toContain('all_addresses_in_single_endpoint');
    expect(providerCluster('p', several)).toMatchObject({
      load_assignment: { endpoints: [{ lb_endpoints: urls.map(({ host }) => ({ endpoint: { hostname: host } })) }] },
      transport_socket_matches: [
        { match: { host: 'vllm-0.example' }, transport_socket: { typed_config: { sni: 'vllm-0.example' } } },
        { match: { host: '192.0.2.1' } },
      ],
    });
  });
});

test('health checks are made in time, even without other requests', () => {
  const healthCheck = { path: '/health', intervalMs: 2000 };
  expect(providerCluster('p', { ...endpoint('http://127.0.0.1:1'), healthCheck })).toMatchObject({
    health_checks: [
      { interval: '2s', no_traffic_interval: '2s', timeout: '2s', http_health_check: { path: '/health' } },
    ],
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
  });
});
