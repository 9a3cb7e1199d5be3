import { setTimeout as sleep } from 'node:timers/promises';
import type { Excuse } from './accident-verdict.ts';
import type { Battlefield, Network, Service } from './nemesis-compose.ts';

export interface NemesisAccident {
  readonly name: string;
  /**
   * `balance`: Redis forgets what is held, or is another one, while a process with holds cannot be
   * reached. `taken_over`: a process that is cut off from both stores delivers, and another one
   * takes its key.
   */
  readonly mayLose?: Excuse['reason'];
  /** Everything is as before when it resolves, but for what has to recover. */
  run(field: Battlefield): Promise<void>;
}

/** Longer than leases (15 s), and shorter. */
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

/** By turns. */
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

/** The way is there again in the end, whatever happens meanwhile. */
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

/** A step, some seconds of load, and the step back. */
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
 * Charges that waited while it was cut off are made by the other process, or by its successor.
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
 * The replica becomes a master while the old one lives. Gateway process 2 is led to it at once, 1
 * some seconds later; then the old one follows it, and all goes the same way back.
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
    // No client resolves this name.
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
