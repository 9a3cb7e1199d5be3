import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { CHANGE_LIMITS } from '#database/audit/change-counts.ts';
import { noteFailedSignIn } from '#database/sign-in/failed-sign-ins.ts';
import { sql } from '../../harness/database.ts';
import { untilDayIsYoung } from '../../harness/young-window.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard, type TestDashboard } from './dashboard-server.ts';

/** Twice the limit, because a minute may end during the test. */
const MOST_WITHIN_TWO_MINUTES = 2 * CHANGE_LIMITS.perMinute;
const MIB = 1_048_576;
const PASSWORD = 'correct horse battery';

describe('changes made in the dashboard', () => {
  let dashboard: TestDashboard;
  let organizationId = '';
  const base = () => `/api/organizations/${organizationId}`;
  beforeAll(async () => {
    dashboard = await startDashboard({}, 'gateway_dashboard', CHANGE_LIMITS);
    organizationId = await dashboard.addOrganization();
  });
  afterAll(() => dashboard.close());

  const someone = async (role: 'owner' | 'member' = 'member') =>
    dashboard.signedIn(await dashboard.addUser({ in: [organizationId, role] }));
  /** Simulates the end of the day and the minute. */
  const forget = () => sql(dashboard.databaseUrl, 'delete from change_counts');

  async function addKey(browser: Browser): Promise<string> {
    const { body } = await browser.send<{ key: { id: string } }>('POST', `${base()}/keys`, {
      name: 'a key',
      scopes: ['chat'],
    });
    return body.key.id;
  }

  async function logBytes(): Promise<number> {
    const [row] = await sql<{ bytes: number }>(
      dashboard.databaseUrl,
      `select sum(pg_total_relation_size(relid))::double precision as bytes from pg_partition_tree('audit_log')`,
    );
    return row?.bytes ?? 0;
  }

  it('are limited for each user, of whatever kind, so that nobody can fill the audit log', async () => {
    const member = await someone();
    const key = await addKey(member);
    const ranges = (group: number) => Array.from({ length: 200 }, (_, n) => `2001:db8:${group}::${n.toString(16)}`);
    const before = await logBytes();
    const statuses: number[] = [];
    for (let round = 0; round < MOST_WITHIN_TWO_MINUTES + 20; round++) {
      const reply = await member.send('PATCH', `${base()}/keys/${key}`, { ipRanges: ranges(round % 2) });
      statuses.push(reply.status);
      if (reply.status === 200) continue;
      expect(reply.body).toMatchObject({ problem: 'too_many_requests', retryAfterSeconds: expect.any(Number) });
      expect(reply.body.message).toMatch(/^You have made too many changes in a short time\. Try again in /);
      expect(reply.headers['retry-after']).toBe(String(reply.body.retryAfterSeconds));
      expect(reply.body.retryAfterSeconds).toBeLessThanOrEqual(60);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(MOST_WITHIN_TWO_MINUTES);
    expect((await logBytes()) - before).toBeLessThan(MIB);
    // The limit applies neither to reads nor to changes that end access.
    expect((await member.get(`${base()}/keys/${key}`)).status).toBe(200);
    expect((await member.send('POST', `${base()}/keys/${key}/revocation`)).status).toBe(200);
  });

  it('are limited for an organization, except those that end access and those of operators', async () => {
    await forget();
    const [owner, operator] = [
      await someone('owner'),
      await dashboard.signedIn(await dashboard.addUser({ operator: true })),
    ];
    const keys = [await addKey(owner), await addKey(owner)];
    /** For the following minutes too, because one may end meanwhile. */
    const counted = (changes: number) =>
      sql(
        dashboard.databaseUrl,
        `insert into change_counts select '${organizationId}', 60, to_timestamp(floor(extract(epoch from now()) / 60) * 60) + n * interval '1 minute', ${changes}
         from generate_series(0, 3) n on conflict (subject, window_seconds, window_start) do update set changes = ${changes}`,
      );
    const people = [await someone(), await someone()].map(async (member) => ({ member, key: await addKey(member) }));
    const members = await Promise.all(people);
    await counted(CHANGE_LIMITS.perMinute - 10);
    let changes = 0;
    let refusal: string | undefined;
    for (; refusal === undefined && changes <= 20; changes++) {
      const { member, key } = members[changes % 2] ?? { member: owner, key: '' };
      const { body } = await member.send('PATCH', `${base()}/keys/${key}`, { name: `name ${changes}` });
      refusal = body.message;
    }
    expect(refusal).toMatch(/^Your organization has made too many changes/);
    expect(changes).toBeGreaterThan(10);
    await counted(1_000);
    expect((await owner.send('PATCH', `${base()}/keys/${keys[0]}`, { name: 'renamed' })).status).toBe(429);
    expect((await operator.send('PATCH', `${base()}/keys/${keys[0]}`, { name: 'renamed' })).status).toBe(200);
    expect((await owner.send('POST', `${base()}/keys/${keys[1]}/revocation`)).status).toBe(200);
    const other = await dashboard.addOrganization('Other');
    const elsewhere = await dashboard.signedIn(await dashboard.addUser({ in: [other, 'owner'] }));
    const made = { name: 'x', scopes: ['chat'] };
    expect((await elsewhere.send('POST', `/api/organizations/${other}/keys`, made)).status).toBe(200);
  });

  it('are limited for a day too, and the refusal says how long to wait', async () => {
    await forget();
    const user = await dashboard.addUser({ in: [organizationId, 'owner'] });
    await sql(
      dashboard.databaseUrl,
      `insert into change_counts select '${user.id}', 86400, to_timestamp(floor(extract(epoch from now()) / 86400) * 86400) + n * interval '1 day', 2000
       from generate_series(0, 1) n`,
    );
    const owner = await dashboard.signedIn(user);
    const refused = await owner.send('POST', `${base()}/keys`, { name: 'x', scopes: ['chat'] });
    expect(refused.status).toBe(429);
    expect(refused.body.message).toMatch(/Try again in (\d+ (seconds|minutes|hours)|a second)\.$/);
    expect(refused.body.retryAfterSeconds).toBeLessThanOrEqual(86_400);
  });
});

describe('the events of signing in', () => {
  it('are logged one by one, so the sign-ins of a user are limited as changes are', async () => {
    await untilDayIsYoung();
    const dashboard = await startDashboard({}, 'gateway_dashboard', { perMinute: 1_000_000, perDay: 3 });
    const { id, email } = await dashboard.addUser({ passwordHash: await hashPassword(PASSWORD) });
    const statuses: number[] = [];
    for (let time = 0; time < 5; time++) {
      const browser = dashboard.browser();
      const reply = await browser.send('POST', '/api/session', { email, password: PASSWORD });
      statuses.push(reply.status);
      if (reply.status === 429) expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
      await browser.send('DELETE', '/api/session');
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const events = await sql<{ action: string }>(
      dashboard.databaseUrl,
      `select action from audit_log where subject_id = '${id}' and action <> 'user.created' order by id`,
    );
    const pair = ['user.signed_in', 'user.signed_out'];
    expect(events.map(({ action }) => action)).toEqual([...pair, ...pair, ...pair]);
    await dashboard.close();
  });

  it('include the first failures one by one, and later ones only when their number doubles', async () => {
    const dashboard = await startDashboard({}, 'gateway_dashboard');
    const user = await dashboard.addUser();
    for (let failure = 0; failure < 200; failure++) {
      await noteFailedSignIn(dashboard.entry, { user, address: `192.0.2.${failure}` });
    }
    const told = await sql<{ failures: number | null }>(
      dashboard.databaseUrl,
      `select (changes -> 'failuresWithinMinute' ->> 1)::integer as failures from audit_log
       where subject_id = '${user.id}' and action = 'user.sign_in_failed' order by id`,
    );
    // If a minute ends meanwhile, each of the two has its own events.
    expect(told.length).toBeLessThanOrEqual(2 * (10 + 4));
    const counted = told.map(({ failures }) => failures).filter((failures) => failures !== null);
    expect(counted.reduce((sum, failures) => sum + failures, 0)).toBeGreaterThanOrEqual(80);
    expect(counted.every((failures) => [20, 40, 80, 160].includes(failures))).toBe(true);
    await dashboard.close();
  });
});
