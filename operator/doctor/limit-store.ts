import type { StoresConfig } from '#core/config/stores.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { diagnoseRedis, type RedisDiagnosis } from '#ext-proc/limits/redis/diagnosis.ts';
import { RedisRefused } from '#ext-proc/limits/redis/redis-errors.ts';
import { type Finding, ok, problem, warning } from './check.ts';
import { clockFinding, latencyFinding } from './clock.ts';

const OLDEST_MAJOR = 7;
/** A script takes a fraction of a millisecond, and each completion waits for two of them. */
const SLOW_MS = 5;
const FULL = 0.8;

export async function lookAtLimitStore(store: StoresConfig['redis']): Promise<readonly Finding[]> {
  if (store.kind === 'memory') return [ok('limit store', 'limits are in the memory of the one gateway process')];
  const { found, failed } = await diagnoseRedis(store.url).catch((error: unknown) => {
    if (!(error instanceof StoreUnavailable || error instanceof RedisRefused)) throw error;
    return { found: [], failed: [error] };
  });
  return [
    ...failed.map((error) => problem('redis', `not usable: ${error.message}`, adviceFor(error))),
    ...LOOKS.flatMap((look) => ofMasters(found, look)),
  ];
}

const LOOKS: readonly ((redis: RedisDiagnosis) => Finding)[] = [
  serverFinding,
  memoryFinding,
  clientsFinding,
  ({ latencyMs }) => latencyFinding('redis latency', latencyMs, SLOW_MS, 'Redis'),
  (redis) => clockFinding('redis clock', redis, 'Redis'),
];

/** Findings about the masters that are not well, or about the first if all are. */
function ofMasters(masters: readonly RedisDiagnosis[], look: (redis: RedisDiagnosis) => Finding): Finding[] {
  if (masters.length === 1) return masters.map(look);
  const named = masters.map((redis) => ({ ...look(redis), address: redis.address }));
  const unwell = named.filter(({ verdict }) => verdict !== 'ok');
  const shown = unwell.length > 0 ? unwell : named.slice(0, 1);
  const all = unwell.length > 0 ? '' : `${masters.length} masters, the first `;
  return shown.map(({ address, ...finding }) => ({ ...finding, found: `${all}${address}: ${finding.found}` }));
}

function adviceFor({ message }: Error): string {
  const meanwhile = 'Until then completions are refused with no_capacity.';
  if (/WRONGPASS|NOAUTH/.test(message)) return `Correct user and password in REDIS_URL (or stores.redis). ${meanwhile}`;
  if (/NOPERM|lacks rights/.test(message)) return `Give the user the rights that docs/stores.md lists. ${meanwhile}`;
  // A server that requires TLS or a client certificate may just close the connection.
  if (/certificate|altnames|SSL|TLS|ECONNRESET/i.test(message)) {
    return `See TLS in docs/stores.md: rediss or redis, the host's name, sslrootcert, sslcert and sslkey in REDIS_URL. ${meanwhile}`;
  }
  return `Start it, or correct REDIS_URL (or stores.redis). ${meanwhile}`;
}

function serverFinding({ version, mode, role, clusterState, persistenceFailed, persistent }: RedisDiagnosis): Finding {
  const check = 'redis';
  const found = `Redis ${version}, ${mode}`;
  if (Number.parseInt(version, 10) < OLDEST_MAJOR) {
    return problem(check, `${found}: older than 7.0`, 'Upgrade Redis: the scripts use functions of 7.0.');
  }
  if (mode === 'standalone' && role !== 'master') {
    return problem(check, `${found}, is a replica and takes no writes`, 'Point REDIS_URL at the master.');
  }
  if (clusterState !== undefined && clusterState !== 'ok') {
    return problem(
      check,
      `${found}, whose state is ${clusterState}`,
      'Find the slots that no node serves (CLUSTER SLOTS).',
    );
  }
  if (persistenceFailed) {
    const advice = 'Free its disk, or switch persistence off: nothing here has to survive a restart of Redis.';
    return problem(check, `${found}, could not save to disk and may refuse writes`, advice);
  }
  return ok(
    check,
    `${found}${persistent ? ', saves to disk, which is not needed' : ', keeps nothing on disk, as it should'}`,
  );
}

function memoryFinding({ maxmemoryPolicy, maxmemoryBytes, usedMemoryBytes }: RedisDiagnosis): Finding {
  const check = 'redis memory';
  const used = `${mebibytes(usedMemoryBytes)} in use`;
  if (maxmemoryBytes === 0) return ok(check, `${used}, without a limit`);
  const found = `${used} of ${mebibytes(maxmemoryBytes)}, ${maxmemoryPolicy}`;
  if (maxmemoryPolicy !== 'noeviction') {
    const advice =
      'Set maxmemory-policy to noeviction: an evicted hold is money spent twice. Gateway processes refuse to start with another policy.';
    return problem(check, found, advice);
  }
  const advice = 'Raise maxmemory: at the limit every completion is refused with no_capacity.';
  return usedMemoryBytes > maxmemoryBytes * FULL ? warning(check, found, advice) : ok(check, found);
}

function clientsFinding({ clients, maxClients }: RedisDiagnosis): Finding {
  const check = 'redis connections';
  const found = `${clients} of ${maxClients === 0 ? 'an unknown number' : maxClients} are in use`;
  const full = maxClients > 0 && clients > maxClients * FULL;
  return full ? warning(check, found, 'Raise maxclients, or look for other clients (CLIENT LIST).') : ok(check, found);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
