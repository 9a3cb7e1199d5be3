import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { GatewayConfig, ListenConfig } from '#core/config/gateway-config.ts';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { renderBootstrap } from './bootstrap.ts';

const address = { host: '127.0.0.1', port: 1 };
const paths = runtimePaths({ GATEWAY_DATA: '/data' });

function chainsOf(perAddress: ListenConfig['perAddress'], trustedProxies: readonly string[] = []) {
  const listen: ListenConfig = { api: address, dashboard: address, metrics: address, perAddress };
  const bootstrap = parse(renderBootstrap({ listen, workers: 1, trustedProxies } as GatewayConfig, paths, 42));
  return bootstrap.static_resources.listeners[0].filter_chains;
}

function filters(perAddress: ListenConfig['perAddress']) {
  const network = chainsOf(perAddress)[0].filters;
  return { network, http: network.at(-1).typed_config.http_filters };
}

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

test('connections and open requests are counted by the module in the data folder', () => {
  const { vm_config: vm, configuration } = filters({ connections: 300, openRequests: 400, requestsPerSecond: 0 })
    .network[0].typed_config.config;
  expect(vm.code.local.filename).toBe('/data/envoy/connection-bound.wasm');
  expect(configuration.value).toBe('300 400 42');
});

test('requests are refilled ten times a second if a tenth is a whole number', () => {
  const bucket = (requestsPerSecond: number, index = 0) =>
    filters({ connections: 0, openRequests: 0, requestsPerSecond }).http[0].typed_config.extension_config.typed_config
      .descriptors[index].token_bucket;
  expect(bucket(300)).toEqual({ max_tokens: 600, tokens_per_fill: 30, fill_interval: '0.1s' });
  expect(bucket(7)).toEqual({ max_tokens: 14, tokens_per_fill: 7, fill_interval: '1s' });
  expect(bucket(7, 1)).toEqual({ max_tokens: 140, tokens_per_fill: 7, fill_interval: '0.1s' });
});

test('trusted proxies have no bound of requests, and a filter chain without the bound of connections', () => {
  const ranges = [
    { address_prefix: '10.0.0.0', prefix_len: 8 },
    { address_prefix: '2001:db8::1', prefix_len: 128 },
  ];
  const chains = chainsOf({ connections: 1, openRequests: 1, requestsPerSecond: 1 }, ['10.0.0.0/8', '2001:db8::1']);
  const [bounded, unbound] = chains;
  expect(chains.length).toBe(2);
  expect(unbound).toEqual({
    ...bounded,
    filter_chain_match: { source_prefix_ranges: ranges },
    filters: bounded.filters.slice(1),
  });
  const [perAddress] = unbound.filters[0].typed_config.http_filters;
  const { range_matchers: matchers } = perAddress.typed_config.xds_matcher.matcher_tree.custom_match.typed_config;
  expect(matchers[0].ranges).toEqual(ranges);
  expect(chainsOf({ connections: 0, openRequests: 0, requestsPerSecond: 1 }, ['10.0.0.0/8']).length).toBe(1);
});

test('a bound of 0 removes its filter, and leaves the other one unchanged', () => {
  const both = filters({ connections: 1, openRequests: 1, requestsPerSecond: 1 });
  const none = filters({ connections: 0, openRequests: 0, requestsPerSecond: 0 });
  expect([names(none.network), names(none.http)]).toEqual([names(both.network).slice(1), names(both.http).slice(1)]);
  for (const one of [
    { connections: 1, openRequests: 0 },
    { connections: 0, openRequests: 1 },
  ]) {
    expect(filters({ ...one, requestsPerSecond: 0 }).network.length).toBe(both.network.length);
  }
  const requestsOnly = filters({ connections: 0, openRequests: 0, requestsPerSecond: 1 });
  expect(requestsOnly.http[0]).toEqual(both.http[0]);
});
