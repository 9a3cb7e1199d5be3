import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, isMap } from 'yaml';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { parseIpRange } from '#core/net/ip-ranges.ts';
import { deleteExisting, type Path, setExisting } from './existing-place.ts';
import { replaceFile } from './replace-file.ts';

/**
 * Envoy's bounds for one client address: open connections (`listen.address_connections`) and open
 * requests (`listen.address_requests`), counted by the module in envoy/connection-bound, and
 * requests a second (`listen.address_rps`), counted by Envoy's own local rate limit. An IPv6 /48
 * gets ten times as much.
 */
const MODULE = new URL('../../envoy/connection-bound/connection-bound.wasm', import.meta.url);

const CHAINS: Path = ['static_resources', 'listeners', 0, 'filter_chains'];
const FILTERS: Path = [...CHAINS, 0, 'filters'];
const MODULE_FILTER: Path = [...FILTERS, 0];
const HTTP: Path = [...FILTERS, 1];
const REQUESTS: Path = [...HTTP, 'typed_config', 'http_filters', 0];
const REQUESTS_CONFIG: Path = [...REQUESTS, 'typed_config'];
const PASSING: Path = ['xds_matcher', 'matcher_tree', 'custom_match', 'typed_config', 'range_matchers', 0, 'ranges'];
const bucketPath = (index: number): Path => ['extension_config', 'typed_config', 'descriptors', index, 'token_bucket'];
const NETWORK_TIMES = 10;
const SEEDS = 2 ** 32;

function modulePath(paths: RuntimePaths): string {
  return join(paths.envoyDir, 'connection-bound.wasm');
}

/**
 * Writes the module to where Envoy finds it, even in its own container. Returns the seed of its
 * hash. It is the same at every start, because Envoy's container restarts if the bootstrap changes.
 */
export async function writeConnectionModule(paths: RuntimePaths): Promise<number> {
  await replaceFile(modulePath(paths), await readFile(MODULE));
  const path = join(paths.envoyDir, 'connection-seed');
  const kept = Number(await readFile(path, 'utf8').catch(() => ''));
  if (Number.isInteger(kept) && kept > 0 && kept < SEEDS) return kept;
  const seed = randomInt(1, SEEDS);
  await replaceFile(path, String(seed));
  return seed;
}

/** Sets all bounds. Must come last: removing filters without a bound changes paths. */
export function boundAddresses(document: Document, config: GatewayConfig, paths: RuntimePaths, seed: number): void {
  const { connections, openRequests, requestsPerSecond } = config.listen.perAddress;
  const trusted = config.trustedProxies.map(toRange);
  if (requestsPerSecond === 0) deleteExisting(document, REQUESTS);
  else {
    for (const [index, times] of [1, NETWORK_TIMES].entries()) {
      const bucket = document.createNode(bucketOf(times * requestsPerSecond));
      setExisting(document, [...REQUESTS_CONFIG, ...bucketPath(index)], bucket);
    }
    if (trusted.length > 0) setExisting(document, [...REQUESTS_CONFIG, ...PASSING], document.createNode(trusted));
  }
  if (connections === 0 && openRequests === 0) deleteExisting(document, MODULE_FILTER);
  else {
    const module: Path = [...MODULE_FILTER, 'typed_config', 'config'];
    setExisting(document, [...module, 'vm_config', 'code', 'local', 'filename'], modulePath(paths));
    setExisting(document, [...module, 'configuration', 'value'], `${connections} ${openRequests} ${seed}`);
    if (trusted.length > 0) addUnboundChain(document, trusted);
  }
}

/** Adds a copy of the chain for these ranges, without the module. */
function addUnboundChain(document: Document, trusted: readonly object[]): void {
  const chain: unknown = document.getIn([...CHAINS, 0]);
  const http: unknown = document.getIn(HTTP);
  if (!isMap(chain) || !isMap(http)) throw new Error('envoy.yaml has no filter chain of HTTP');
  const unbound = chain.clone();
  if (!isMap(unbound)) throw new Error('a clone is what its original is');
  unbound.set('filter_chain_match', document.createNode({ source_prefix_ranges: trusted }));
  unbound.set('filters', document.createNode([]));
  unbound.addIn(['filters'], document.createAlias(http, 'ingress_http'));
  document.addIn(CHAINS, unbound);
}

/**
 * Bucket that is filled ten times a second, or once if a tenth is not a whole number. A burst may
 * have the requests of two seconds.
 */
function bucketOf(requestsPerSecond: number): object {
  const fills = requestsPerSecond % 10 === 0 ? 10 : 1;
  return {
    max_tokens: 2 * requestsPerSecond,
    tokens_per_fill: requestsPerSecond / fills,
    fill_interval: `${1 / fills}s`,
  };
}

/** A range for Envoy. Ranges replace that of the template, which has no client (RFC 5737). */
function toRange(text: string): object {
  const range = parseIpRange(text);
  if (range === undefined) throw new Error('trusted_proxies holds ranges only');
  return { address_prefix: range.address.toString(), prefix_len: range.prefixLength };
}
