import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXPLORE_RANKS, type ExploreGrouping, GROUPINGS } from '#contract/explore.ts';
import type { ExploreFilter } from '#contract/explore-filter.ts';
import { DAY_MS, MINUTE_MS, utcDay } from '#core/clock.ts';
import { idMoment } from '#core/ids.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { type ExploreCell, explore } from '#database/request-log/explore-reads.ts';
import { countOmitted } from '#database/request-log/omitted-count.ts';
import { addCustomer, createDatabase, openStore, SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';

const ROWS = 20_000;
const MOST_ROWS = 1_000;
const OMITTED_ROWS = 160_000;

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const url = await createDatabase();
const store = opened(() => openStore(url));
const database = opened(async () => openDatabase(url, SILENT));

describe('the explorer', () => {
  let organizationId = '';

  beforeAll(async () => {
    ({ organizationId } = await addCustomer(store, 0n));
    // Whole days: of a day with few more rows than the bound, PostgreSQL would scan all.
    const endMs = utcDay(Date.now()) * DAY_MS;
    await fillRequestLog(url, { organizationId, rows: ROWS, days: 2, endMs, withUsage: true });
    await sql(url, 'analyze request_log');
  });

  /** The rows of the log that the explorer's statements read, as PostgreSQL counts them. */
  async function rowsRead(by: ExploreGrouping, filter: ExploreFilter): Promise<number> {
    const counted: number[] = [];
    const query = async (statement: pg.QueryConfig) => {
      if (statement.name || !/ from request_log\b/.test(statement.text)) return database.query(statement);
      const text = `explain (analyze, format json) ${statement.text}`;
      const { rows } = await database.query({ text, values: statement.values ?? [] });
      counted.push(readBy(rows[0]['QUERY PLAN'][0].Plan));
      return { rows: [] };
    };
    const counting: pg.Pool = Object.create(database, { query: { value: query } });
    const [toMs, compare] = [Date.now(), false];
    const range = { organizationId, fromMs: toMs - 3 * DAY_MS, toMs };
    await explore(counting, { ...range, by, compare, filter }, MOST_ROWS);
    return counted.reduce((sum, rows) => sum + rows, 0);
  }

  function readBy(plan: Plan): number {
    const ofLog = plan['Relation Name']?.startsWith('request_log') === true;
    const own = ofLog ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] : 0;
    return (plan.Plans ?? []).reduce((sum, one) => sum + readBy(one), own);
  }

  it('leaves no prepared statements of its variants in its connections', async () => {
    const range = { fromMs: Date.now() - 3 * DAY_MS, toMs: Date.now(), compare: false, filter: {} };
    for (const by of GROUPINGS)
      for (const rank of EXPLORE_RANKS) await explore(database, { organizationId, ...range, by, rank });
    const prepared = await database.query('select name from pg_prepared_statements');
    expect(prepared.rows.length).toBeLessThan(GROUPINGS.length);
  });

  it('reads only the newest omitted requests, and reports since when', async () => {
    const { organizationId: refused } = await addCustomer(store, 0n);
    const toMs = Date.now();
    const minute = Math.floor(toMs / MINUTE_MS);
    await sql(
      url,
      `insert into omitted_requests select '${refused}', ${minute} - n % 4000, 'key-' || n, '', 'key_revoked', 401, 'test', 1
       from generate_series(1, ${OMITTED_ROWS}) n`,
    );
    const range = { organizationId: refused, fromMs: toMs - 3 * DAY_MS, toMs };
    const filter = { outcome: 'failed' } as const;
    const ask = (by: ExploreGrouping) => explore(database, { ...range, by, compare: true, filter }, MOST_ROWS);
    const completeFromMs = (minute + 1 - 150_000 / (OMITTED_ROWS / 4_000)) * MINUTE_MS;
    const { cells, ...explored } = await ask('user');
    expect(explored).toMatchObject({ source: 'rows', completeFromMs });
    expect(cells.find(({ step }) => step === null)?.requests).toBe(150_000);
    // Sums include all omitted requests, so they need no bound.
    expect(await ask('code')).toMatchObject({ source: 'hours' });
    // The oldest minute that is read may be incomplete.
    const leftOutSinceMs = completeFromMs + MINUTE_MS;
    expect(await countOmitted(database, { ...range, ...filter })).toEqual({ leftOut: 150_000, leftOutSinceMs });
    const shorter = await explore(database, { ...range, fromMs: toMs - DAY_MS, by: 'user', compare: true, filter });
    expect(shorter.completeFromMs).toBeUndefined();
    // The day before has fewer than the bound too.
    expect(shorter.before).toBeDefined();
  });

  it('reads the sums of users up to a bound, and reports since when', async () => {
    const [newest] = await sql<{ n: number; day: number }>(
      url,
      `select count(*)::integer as n, extract(epoch from day)::double precision * 1000 as day from user_usage group by day order by day desc`,
    );
    // A day may have begun since the log was filled, and it would have no sums.
    const toMs = Number(newest?.day) + DAY_MS;
    const query = { organizationId, fromMs: toMs - 3 * DAY_MS, toMs, by: 'user', compare: true, filter: {} } as const;
    const requestsOf = async (of: string) => {
      const [row] = await sql<{ n: string }>(url, `select sum(requests) as n from ${of}`);
      return Number(row?.n);
    };
    const shownOf = (cells: readonly ExploreCell[], id?: string) =>
      cells
        .filter((cell) => cell.step !== null && (id === undefined || cell.id === id))
        .reduce((sum, { requests }) => sum + Number(requests), 0);
    const all = await requestsOf('daily_usage');
    const unnamed = all - (await requestsOf('user_usage'));
    expect(unnamed).toBeGreaterThan(100);
    const whole = await explore(database, query, MOST_ROWS);
    expect(whole).toMatchObject({ source: 'ledger_of_users', before: expect.anything() });
    expect([shownOf(whole.cells), shownOf(whole.cells, '')]).toEqual([all, unnamed]);
    const some = await explore(database, { ...query, filter: { users: ['user-0', ''] } }, MOST_ROWS);
    expect([some.source, shownOf(some.cells, '')]).toEqual(['ledger', unnamed]);
    const newestRequests = await requestsOf('daily_usage where day = (select max(day) from daily_usage)');
    const { organizationId: _, ...ofAll } = query;
    for (const asked of [query, ofAll]) {
      const bounded = await explore(database, asked, MOST_ROWS, newest?.n);
      expect(bounded.completeFromMs).toBe(newest?.day);
      expect(bounded.before).toBeUndefined();
      expect(shownOf(bounded.cells)).toBe(newestRequests);
      const ofRows = await explore(database, asked, MOST_ROWS, Number(newest?.n) - 1);
      expect(ofRows.source).toBe('rows');
      expect(shownOf(ofRows.cells)).toBeGreaterThan(0);
    }
  });

  it.each([
    ['rows', ROWS + 1],
    ['ledger_of_users', MOST_ROWS],
  ] as const)(
    'shows those with most spend of a thousand users, and all others as one: %s',
    async (source, mostRows) => {
      interface Logged {
        readonly id: string;
        readonly user: string;
        readonly cost: string | null;
      }
      const logged = await sql<Logged>(
        url,
        `select id, coalesce(end_user, '') as user, cost_nano_usd::text as cost from request_log where organization_id = '${organizationId}'`,
      );
      const counted = source === 'rows' ? logged : logged.filter(({ cost }) => cost !== null);
      const figuresOf = (of: readonly Logged[]) => ({
        requests: of.length,
        cost: String(of.reduce((sum, { cost }) => sum + BigInt(cost ?? 0), 0n)),
      });
      const groups = [...Map.groupBy(counted, ({ user }) => user)]
        .map(([id, of]) => ({ id, ...figuresOf(of) }))
        .sort((a, b) => Number(BigInt(b.cost) - BigInt(a.cost)) || b.requests - a.requests || (a.id < b.id ? -1 : 1));
      expect(groups.length).toBeGreaterThan(1_000);

      const toMs = Date.now();
      const query = {
        organizationId,
        fromMs: toMs - 3 * DAY_MS,
        toMs,
        by: 'user',
        compare: false,
        filter: {},
      } as const;
      const { cells, steps, ...explored } = await explore(database, query, mostRows);
      expect(explored).toEqual({ source });
      const figures = ({ requests, cost }: ExploreCell) => ({ requests, cost: cost ?? '0' });
      expect(
        cells
          .filter(({ step }) => step === null)
          .map(({ id, rank, groupCount, ...cell }) => ({ id, rank, groupCount, ...figures(cell as ExploreCell) }))
          .sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0)),
      ).toEqual(groups.slice(0, 100).map((group, i) => ({ ...group, rank: i + 1, groupCount: groups.length })));
      const largest = new Set(groups.slice(0, 8).map(({ id }) => id));
      const stepOf = (id: string) => steps.startsMs.findLastIndex((startMs) => startMs <= idMoment(id));
      const placed = Map.groupBy(counted, ({ id, user }) => `${stepOf(id)} ${largest.has(user) ? user : 'others'}`);
      expect(
        new Map(
          cells
            .filter(({ step, requests }) => step !== null && requests !== 0)
            .map((cell) => [`${cell.step} ${cell.id ?? 'others'}`, figures(cell)]),
        ),
      ).toEqual(new Map([...placed].map(([place, of]) => [place, figuresOf(of)])));
    },
  );

  it.each([
    ['requests', 'count(*)'],
    ['failures', 'count(code)'],
    ['tokens', 'coalesce(sum(prompt_tokens + completion_tokens), 0)'],
  ] as const)('lists the groups with most %s, though others cost more', async (rank, size) => {
    const largest = await sql<{ n: string }>(
      url,
      `select ${size} as n from request_log where organization_id = '${organizationId}' group by end_user order by 1 desc limit 100`,
    );
    const toMs = Date.now();
    const query = { organizationId, fromMs: toMs - 3 * DAY_MS, toMs, by: 'user', compare: false, filter: {} } as const;
    const { cells } = await explore(database, { ...query, rank });
    const sizeOf = ({ requests, failures, prompt, completion }: ExploreCell) =>
      ({ requests, failures, tokens: (prompt ?? 0) + (completion ?? 0) })[rank];
    const groups = cells.filter(({ step }) => step === null).sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
    expect(groups.map(sizeOf)).toEqual(largest.map(({ n }) => Number(n)));
  });

  it.each<[ExploreGrouping, ExploreFilter]>([
    ['none', { minDurationMs: 1 }],
    ['user', { codes: ['key_revoked'] }],
    ['metadata.team', { codes: ['key_revoked'], minDurationMs: 1 }],
    ['user', { outcome: 'failed' }],
    ['none', { statusClasses: ['5xx'], users: ['user-1'] }],
  ])('reads no more rows than it has counted: by %s, %j', async (by, filter) => {
    const read = await rowsRead(by, filter);
    // If clients name the groups, a first reading finds the groups to show.
    const readings = by === 'none' ? 1 : 2;
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(readings * MOST_ROWS);
  });
});
