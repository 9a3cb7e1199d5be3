import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { httpFilter, socketAddress, staticCluster } from './envoy-process.ts';

/**
 * Keys and token limits of Agent Router, as Envoy Gateway generates them from a SecurityPolicy with
 * API keys and a BackendTrafficPolicy. Envoy checks the key. The rate limit service, with counters
 * in Redis, decides whether the caller has tokens left, and gets the used tokens after the
 * response. It has no balances, concurrency limits or request log.
 */
export interface PeerLimits {
  readonly servicePort: number;
  readonly keys: readonly string[];
}

const DOMAIN = 'bench';
const ROUTE = 'bench/route';
const CALLER = 'caller';
const CALLER_HEADER = 'x-tenant-id';
const TOKENS_PER_HOUR = 4_000_000_000;

/** The filters before and after the one of its ext_proc service. */
export function limitFilters({ keys }: PeerLimits): { readonly before: object; readonly after: object } {
  const before = httpFilter('api_key_auth', 'api_key_auth.v3.ApiKeyAuth', {
    credentials: keys.map((key, index) => ({ key, client: `caller-${index}` })),
    key_sources: [{ header: 'Authorization' }],
    forwarding: { header: CALLER_HEADER, hide_credentials: true },
  });
  const after = httpFilter('ratelimit', 'ratelimit.v3.RateLimit', {
    domain: DOMAIN,
    enable_x_ratelimit_headers: 'DRAFT_VERSION_03',
    rate_limit_service: { grpc_service: { envoy_grpc: { cluster_name: 'ratelimit' } }, transport_api_version: 'V3' },
  });
  return { before, after };
}

/**
 * Rate limits of the route: a check that uses no tokens, and a report at the end of the response.
 */
export function limitsOfRoute(usedTokens: string): object {
  const actions = [
    { generic_key: { descriptor_key: ROUTE, descriptor_value: ROUTE } },
    { request_headers: { header_name: CALLER_HEADER, descriptor_key: CALLER } },
  ];
  return {
    'envoy.filters.http.ratelimit': {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute',
      rate_limits: [
        { actions, hits_addend: { number: 0 } },
        { actions, hits_addend: { format: usedTokens }, apply_on_stream_done: true },
      ],
    },
  };
}

export function limitCluster({ servicePort }: PeerLimits, protocol: object): object {
  return staticCluster('ratelimit', socketAddress(servicePort), protocol);
}

export interface RateLimitService {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** `binary` is built from `src/service_cmd` of github.com/envoyproxy/ratelimit. */
export async function startRateLimitService(binary: string, redisPort: number): Promise<RateLimitService> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-ratelimit-'));
  mkdirSync(join(folder, 'limits/config'), { recursive: true });
  writeFileSync(
    join(folder, 'limits/config/config.yaml'),
    JSON.stringify({
      domain: DOMAIN,
      descriptors: [
        {
          key: ROUTE,
          value: ROUTE,
          descriptors: [{ key: CALLER, rate_limit: { unit: 'hour', requests_per_unit: TOKENS_PER_HOUR } }],
        },
      ],
    }),
  );
  const [http = 0, grpc = 0, debug = 0] = await freePorts(3);
  const listen = { HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' };
  const ports = { PORT: String(http), GRPC_PORT: String(grpc), DEBUG_PORT: String(debug) };
  const redis = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redisPort}` };
  const runtime = { RUNTIME_ROOT: folder, RUNTIME_SUBDIRECTORY: 'limits', RUNTIME_WATCH_ROOT: 'false' };
  const service = startProcess(binary, [], {
    env: { ...process.env, ...listen, ...ports, ...redis, ...runtime, USE_STATSD: 'false', LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = async (): Promise<void> => {
    await service.end();
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await accepts(grpc))) {
    if (service.hasEnded() || performance.now() > deadline) {
      await stop();
      throw new Error(`${service.command} did not start:\n${service.output()}`);
    }
    await sleep(50);
  }
  return { port: grpc, pid: service.pid, stop };
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
