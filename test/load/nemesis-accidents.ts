import { setTimeout as sleep } from 'node:timers/promises';
import type { Excuse } from './accident-verdict.ts';
import type { Battlefield, Network, Service } from './nemesis-compose.ts';

export interface NemesisAccident {
  readonly name: string;
  /**
   * The losses that are excused. `balance`: Redis loses its holds, or is replaced, while a process
   * with holds is unreachable. `taken_over`: another process takes over the idempotency key of a
   * process that delivers while cut off from both stores.
   */
  readonly mayLose?: Excuse['reason'];
  /** Resolves when the faults are undone. Recovery may still be under way. */
  run(field: Battlefield): Promise<void>;
}

/** Longer and shorter than a lease (15 s). */
const LONG_MS = 20_000;
const SHORT_MS = 8_000;
const CUT_OFF: readonly [Service, Network][] = [
  ['gateway', 'redis-of-1'],
  ['gateway', 'postgres'],
];
const ALL: readonly [Service, Network][] = [
  ['gateway', 'redis-of-1'],
  ['gateway-2', 'redis-of-2'],
];

/** The accidents of a run, played in turn. */
export function nemesisAccidents(canSetRedisClock: boolean): readonly NemesisAccident[] {
  return [
    { ...partition('gateway 1 cut from Redis and PostgreSQL', CUT_OFF, LONG_MS), mayLose: 'taken_over' },
    partition('gateway 1 cut from Redis', [['gateway', 'redis-of-1']], LONG_MS),
    {
      name: 'Redis led to its promoted replica, one gateway process after the other',
      mayLose: 'balance',
      run: promote,
    },
    partition('gateway 2 cut from PostgreSQL', [['gateway-2', 'postgres']], SHORT_MS),
    killed('gateway-2'),
    ...(canSetRedisClock ? [clockSteps('Redis: clock 20 s forward and back', 20)] : []),
    paused('postgres', SHORT_MS),
    killed('redis'),
    paused('gateway', LONG_MS),
    { name: 'gateway 2 cut from PostgreSQL, then killed', run: killedWhileCut },
    killed('postgres'),
    ...(canSetRedisClock ? [clockSteps('Redis: clock an hour back and forward', -3600)] : []),
    partition('both cut from Redis', ALL, SHORT_MS),
    killed('envoy-2'),
    paused('redis', SHORT_MS),
    { name: 'Redis flushed while gateway 2 is cut from it', mayLose: 'balance', run: flushedWhileCut },
    { name: 'gateway 1 restarted', run: async (field) => void (await field.docker('gateway', 'restart', '-t', '60')) },
    partition(
      'both cut from PostgreSQL',
      [
        ['gateway', 'postgres'],
        ['gateway-2', 'postgres'],
      ],
      SHORT_MS,
    ),
  ];
}

function partition(name: string, ways: readonly [Service, Network][], forMs: number): NemesisAccident {
  return {
    name,
    async run(field) {
      await cutDuring(field, ways, () => sleep(forMs));
    },
  };
}

/** Cuts the connections during `meanwhile`, and restores them in any case. */
async function cutDuring(
  field: Battlefield,
  ways: readonly [Service, Network][],
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  for (const [service, network] of ways) await field.disconnect(service, network);
  try {
    await meanwhile();
  } finally {
    for (const [service, network] of ways) await field.connect(service, network);
  }
}

function paused(service: Service, forMs: number): NemesisAccident {
  return {
    name: `${service} paused`,
    async run(field) {
      await field.docker(service, 'pause');
      await sleep(forMs);
      await field.docker(service, 'unpause');
    },
  };
}

function killed(service: Service): NemesisAccident {
  return {
    name: `kill -9 of ${service}`,
    async run(field) {
      await field.docker(service, 'kill');
      await field.docker(service, 'start');
    },
  };
}

/** Steps the clock, waits under load, and steps it back. */
function clockSteps(name: string, aheadSeconds: number): NemesisAccident {
  return {
    name,
    async run(field) {
      field.setRedisClock(aheadSeconds);
      await sleep(SHORT_MS);
      field.setRedisClock(0);
    },
  };
}

/**
 * The charges that waited while gateway 2 was cut off are shipped by gateway 1 or by the restarted
 * process.
 */
function killedWhileCut(field: Battlefield): Promise<void> {
  return cutDuring(field, [['gateway-2', 'postgres']], async () => {
    await sleep(SHORT_MS);
    await field.docker('gateway-2', 'kill');
    await sleep(SHORT_MS);
  }).finally(() => field.docker('gateway-2', 'start').then(() => {}));
}

function flushedWhileCut(field: Battlefield): Promise<void> {
  return cutDuring(field, [['gateway-2', 'redis-of-2']], async () => {
    await sleep(SHORT_MS);
    await redisCli(field, 'redis', 'FLUSHALL');
    await sleep(SHORT_MS);
  });
}

/**
 * Promotes the replica while the old master runs. Gateway process 2 is redirected to it at once,
 * process 1 some seconds later. Then the old master becomes the replica, and the same happens in
 * reverse.
 */
async function promote(field: Battlefield): Promise<void> {
  await change(field, 'redis', 'redis-2');
  await redisCli(field, 'redis', 'REPLICAOF', 'redis-2', '6379');
  await untilReplicated(field, 'redis');
  await change(field, 'redis-2', 'redis');
  await redisCli(field, 'redis-2', 'REPLICAOF', 'redis-1', '6379');
  await untilReplicated(field, 'redis-2');
}

async function change(field: Battlefield, from: 'redis' | 'redis-2', to: 'redis' | 'redis-2'): Promise<void> {
  await redisCli(field, to, 'REPLICAOF', 'NO', 'ONE');
  for (const network of ['redis-of-2', 'redis-of-1'] as const) {
    for (const one of [from, to]) await field.disconnect(one, network);
    await field.connect(to, network, 'redis');
    // A name that no client resolves.
    await field.connect(from, network, 'former');
    await sleep(SHORT_MS);
  }
}

async function untilReplicated(field: Battlefield, replica: 'redis' | 'redis-2'): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await redisCli(field, replica, 'INFO', 'replication')).includes('master_link_status:up')) {
    if (performance.now() > deadline) throw new Error(`${replica} does not replicate`);
    await sleep(250);
  }
}

function redisCli(field: Battlefield, service: 'redis' | 'redis-2', ...command: readonly string[]): Promise<string> {
  return field.exec(service, 'redis-cli', ...command);
}
