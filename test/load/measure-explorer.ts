/**
 * Measures each view of the explorer and of the request list at scale: `node
 * test/load/measure-explorer.ts --rows 10000000 --days 60` fills a database on a PostgreSQL server
 * of its own and prints a table. It shows the best of three tries, as elapsed time and as CPU time,
 * which depends less on other load. With `DATABASE_URL` it measures that database, and fills it
 * first if it has no organization.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { ExploreGrouping } from '#contract/explore.ts';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { readRequests } from '#dashboard/server/routes/requests-routes.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { createKey } from '#database/keys/key-rows.ts';
import { createOrganization } from '#database/organizations/organization-rows.ts';
import { explore } from '#database/request-log/explore-reads.ts';
import { countOmitted } from '#database/request-log/omitted-count.ts';
import { sumUpRequestDays } from '#database/request-log/request-day-stats.ts';
import { newDatabase, prepareMigrated } from '../harness/new-database.ts';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { cpuMicros, readStat } from '../harness/process-cpu.ts';
import { fillRequestLog } from './fill-request-log.ts';

const RANGES: Readonly<Record<string, number>> = {
  '15 min': 15 * MINUTE_MS,
  '1 h': 60 * MINUTE_MS,
  '6 h': DAY_MS / 4,
  '24 h': DAY_MS,
  '7 d': 7 * DAY_MS,
  '30 d': 30 * DAY_MS,
  '90 d': 90 * DAY_MS,
  '1 y': 365 * DAY_MS,
};
const GROUPS: readonly ExploreGrouping[] = [
  ...(['none', 'key', 'model', 'code', 'status', 'user', 'provider', 'organization'] as const),
  'metadata.team',
];
const LOG = { info: () => {}, warn: () => {}, error: () => {} };
const BY = { actor: 'load' };
const KEYS = 20;
const TRIES = 3;

/** Filters on single fields and on combinations. */
const filtersOf = (keyId: string): Readonly<Record<string, ExploreFilter>> => ({
  'one key': { keys: [keyId] },
  'one model': { models: ['gpt-5'] },
  'two models': { models: ['gpt-5', 'mistral-large'] },
  failed: { outcome: 'failed' },
  'rare code': { codes: ['key_revoked'] },
  '5xx': { statusClasses: ['5xx'] },
  'one user': { users: ['user-77'] },
  metadata: { metadata: ['team=red'] },
  'metadata that nothing has': { metadata: ['team=none'] },
  'provider, streamed': { providers: ['openai'], streamed: true },
  cost: { minCostNanoUsd: '4000000' },
  'cost that nothing reaches': { minCostNanoUsd: '400000000000' },
  latency: { minDurationMs: 12_000 },
  'all of them': {
    ...{ keys: [keyId], models: ['gpt-5'], outcome: 'succeeded', statusClasses: ['2xx'], users: ['user-1'] },
    ...{ metadata: ['team=red'], providers: ['openai'], streamed: true, minCostNanoUsd: '1000', minDurationMs: 100 },
  },
});

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '10000000' }, days: { type: 'string', default: '60' } },
});
const [rows, days] = [Number(values.rows), Number(values.days)];
const postgres = process.env.DATABASE_URL === undefined ? await startTestPostgres({ fsync: 'off' }) : undefined;
if (postgres !== undefined) await prepareMigrated(postgres.socketDir);
const databaseUrl = process.env.DATABASE_URL ?? (await newDatabase(postgres?.socketDir ?? '')).url;
const database = openDatabase(databaseUrl, LOG);
const parent = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
/** The parent of this connection's backend is the PostgreSQL server. */
const processes = { postgres: [readStat(`/proc/${parent.rows[0]?.pid}/stat`)?.parent ?? 0], own: [process.pid] };
const say = (line: string) => process.stdout.write(`${line}\n`);
try {
  await measure();
} finally {
  await database.end();
  await postgres?.stop();
}

async function measure(): Promise<void> {
  if ((await organizations()).length === 0) await fill();
  const [largest] = await organizations();
  const { rows: keys } = await database.query<{ id: string }>(
    'select id from keys where organization_id = $1 order by id offset 5 limit 1',
    [largest],
  );
  const filters = filtersOf(keys[0]?.id ?? '');
  const nowMs = Date.now();
  for (const organizationId of [largest, undefined]) {
    const of = organizationId === undefined ? {} : { organizationId };
    say(`\n${organizationId === undefined ? 'All organizations' : 'One organization'}, ms of CPU (of time)\n`);
    say(`| view | ${Object.keys(RANGES).join(' | ')} |\n|---|${'---|'.repeat(Object.keys(RANGES).length)}`);
    const line = async (view: string, ask: (range: { fromMs: number; toMs: number }) => Promise<unknown>) => {
      const cells: string[] = [];
      for (const ms of Object.values(RANGES)) cells.push(await timed(() => ask({ fromMs: nowMs - ms, toMs: nowMs })));
      say(`| ${view} | ${cells.join(' | ')} |`);
    };
    for (const by of GROUPS) {
      await line(`by ${by}, compared`, (range) =>
        explore(database, { ...of, ...range, by, compare: true, filter: {} }),
      );
    }
    for (const [name, filter] of Object.entries(filters)) {
      const query = { ...of, by: 'model', compare: true, filter } as const;
      await line(`${name}, by model, compared`, (range) => explore(database, { ...query, ...range }));
    }
    for (const [name, filter] of Object.entries({ none: {}, ...filters })) {
      await line(`requests: ${name}`, async (range) => {
        const query = { ...filter, ...range };
        await Promise.all([
          readRequests(database, organizationId, { ...query, limit: 50 }),
          countOmitted(database, { ...of, ...query }),
        ]);
      });
    }
  }
}

async function organizations(): Promise<string[]> {
  const found = await database.query<{ id: string }>('select id from organizations order by id');
  return found.rows.map(({ id }) => id);
}

/**
 * The first organization gets nine tenths of the rows. Two connections fill one half of its time
 * each.
 */
async function fill(): Promise<void> {
  const [startMs, nowMs] = [performance.now(), Date.now()];
  const [large, small] = [await addOrganization(nowMs), await addOrganization(nowMs + 1)];
  const middleMs = (utcDay(nowMs) - Math.floor(days / 2)) * DAY_MS;
  const newerDays = (nowMs - middleMs) / DAY_MS;
  const share = (part: number) => Math.round((rows * part * 9) / 10 / days);
  const ofLarge = { organizationId: large, withUsage: true };
  await Promise.all([
    fillRequestLog(databaseUrl, { ...ofLarge, rows: share(days - newerDays), days: days - newerDays, endMs: middleMs }),
    fillRequestLog(databaseUrl, { ...ofLarge, rows: share(newerDays), days: newerDays, endMs: nowMs }),
  ]);
  await fillRequestLog(databaseUrl, { organizationId: small, withUsage: true, rows: rows / 10, days, endMs: nowMs });
  // A pool without statement time-out: the dashboard's pool cancels statements after eight seconds.
  const patient = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  await sumUpRequestDays(patient, nowMs);
  await patient.query('analyze request_day_stats, user_usage, daily_usage');
  await patient.end();
  say(`${rows} rows of ${days} days in ${Math.round((performance.now() - startMs) / 1000)} s`);
}

async function addOrganization(nowMs: number): Promise<string> {
  const timeouts = { connectMs: 5_000, statementMs: 60_000 };
  const pool = createPool(databaseUrl, 1, timeouts, LOG);
  const id = newId('org', nowMs);
  const settings = { name: 'Acme', ...DEFAULT_RULES };
  await createOrganization(pool, { ...settings, id }, BY);
  for (let number = 0; number < KEYS; number++) {
    const key = { name: `Key ${number}`, scopes: ['chat'] as const, hash: randomBytes(32), last4: 'load' };
    await createKey(pool, { ...key, id: newId('key', nowMs), organizationId: id }, BY);
  }
  await pool.end();
  return id;
}

/**
 * CPU time of PostgreSQL and of this process, and elapsed time. Includes other clients of the
 * server.
 */
async function timed(ask: () => Promise<unknown>): Promise<string> {
  const tries: { readonly cpuMs: number; readonly wallMs: number }[] = [];
  for (let i = 0; i < TRIES; i++) {
    const [startMs, startMicros] = [performance.now(), cpuMicros(processes)];
    const failed = await ask().then(
      () => false,
      (error: unknown) => {
        if (error instanceof StoreUnavailable) return true;
        throw error;
      },
    );
    if (failed) return 'more than 8 s';
    const micros = cpuMicros(processes);
    const cpuMs = Object.entries(micros).reduce((sum, [name, used]) => sum + used - (startMicros[name] ?? 0), 0) / 1000;
    tries.push({ cpuMs, wallMs: performance.now() - startMs });
  }
  const least = (of: 'cpuMs' | 'wallMs') => Math.round(Math.min(...tries.map((one) => one[of])));
  return `${least('cpuMs')} (${least('wallMs')})`;
}
