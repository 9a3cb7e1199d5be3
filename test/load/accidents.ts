import { setTimeout as sleep } from 'node:timers/promises';
import type { TestPostgres } from '../harness/postgres-server.ts';
import type { TestRedis } from '../harness/redis-server.ts';
import { supervisedChildren } from '../harness/supervised-children.ts';

export interface AccidentScene {
  readonly supervisorPid: number;
  readonly postgres: TestPostgres;
  readonly redis: TestRedis;
}

export interface Accident {
  readonly name: string;
  run(scene: AccidentScene): Promise<void>;
}

const POSTGRES_AWAY_MS = 4_000;
/**
 * Longer than the time for which charges may wait before requests are refused, and longer than any
 * request.
 */
const POSTGRES_LONG_AWAY_MS = 20_000;
const GATEWAY = 'ext-proc/main.ts';

/** Each process is killed and each store is lost in turn while the others work. */
export const ACCIDENTS: readonly Accident[] = [
  signal('kill -9 of the first gateway process', GATEWAY, 0, 'SIGKILL'),
  postgresStopped('PostgreSQL stopped and started', POSTGRES_AWAY_MS),
  signal('SIGTERM to the second gateway process', GATEWAY, 1, 'SIGTERM'),
  postgresStopped('PostgreSQL stopped for 20 s', POSTGRES_LONG_AWAY_MS),
  { name: 'Redis flushed', run: ({ redis }) => redis.empty() },
  signal('kill -9 of Envoy', 'envoy.yaml', 0, 'SIGKILL'),
  signal('kill -9 of the second gateway process', GATEWAY, 1, 'SIGKILL'),
  {
    name: 'kill -9 of PostgreSQL',
    async run({ postgres }) {
      await postgres.crash();
      await sleep(POSTGRES_AWAY_MS);
      await postgres.restart();
    },
  },
  signal('SIGTERM to the first gateway process', GATEWAY, 0, 'SIGTERM'),
  { name: 'kill -9 of Redis', run: ({ redis }) => redis.restart() },
  signal('kill -9 of the dashboard', 'dashboard/server/main.ts', 0, 'SIGKILL'),
];

function postgresStopped(name: string, awayMs: number): Accident {
  return {
    name,
    async run({ postgres }) {
      await postgres.shutDown();
      await sleep(awayMs);
      await postgres.restart();
    },
  };
}

/** Does nothing while the former process is still restarting. */
function signal(name: string, part: string, index: number, which: NodeJS.Signals): Accident {
  return {
    name,
    async run({ supervisorPid }) {
      const victim = supervisedChildren(supervisorPid, part).sort((a, b) => a - b)[index];
      if (victim !== undefined) process.kill(victim, which);
    },
  };
}
