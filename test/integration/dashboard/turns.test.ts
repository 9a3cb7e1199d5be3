import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { lockWaits } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const PASSWORD = 'correct horse battery';

const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
let slow: pg.Client;
beforeAll(async () => {
  slow = new pg.Client({ connectionString: dashboard.databaseUrl });
  await slow.connect();
});
afterAll(async () => {
  await slow.end();
});

/** Requests the days of a month, whose money is read from daily_usage. */
const usage = (browser: Browser, organizationId: string) =>
  browser.get(`/api/organizations/${organizationId}/explore?fromMs=1764000000000&toMs=1766592000000&by=model`);

/** Blocks every read of usage with a table lock during the work. */
async function whileUsageIsSlow(work: () => Promise<void>): Promise<void> {
  await slow.query('begin; lock table daily_usage in access exclusive mode');
  try {
    await work();
  } finally {
    await slow.query('rollback');
  }
}

const untilWaiting = (statements: number) =>
  expect.poll(() => lockWaits(dashboard.databaseUrl), { timeout: 20_000 }).toBe(statements);

it.each([6, 30])('%i slow requests of one user do not block anybody else', async (requests) => {
  const organizationId = await dashboard.addOrganization();
  const otherId = await dashboard.addOrganization('Other');
  const hog = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
  const colleague = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  const stranger = await dashboard.signedIn(await dashboard.addUser({ in: [otherId, 'owner'] }));
  const { email } = await dashboard.addUser({ in: [otherId, 'member'], passwordHash: await hashPassword(PASSWORD) });
  let pending: ReturnType<typeof usage>[] = [];
  await whileUsageIsSlow(async () => {
    pending = Array.from({ length: requests }, () => usage(hog, organizationId));
    await untilWaiting(2);
    for (const [browser, id] of [
      [colleague, organizationId],
      [stranger, otherId],
    ] as const) {
      for (const page of [
        '',
        '/explore?fromMs=1764000000000&toMs=1764086400000&by=model',
        '/keys',
        '/requests',
        '/ledger',
        '/members',
        '/audit',
      ]) {
        expect([page, (await browser.get(`/api/organizations/${id}${page}`)).status]).toEqual([page, 200]);
      }
    }
    const entered = await dashboard.browser().send('POST', '/api/session', { email, password: PASSWORD });
    expect(entered.status).toBe(200);
  });
  for (const reply of await Promise.all(pending)) {
    // 503: PostgreSQL cancelled a statement that waited for longer than its time-out.
    expect([200, 429, 503]).toContain(reply.status);
    if (reply.status === 429) expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  }
  expect((await usage(hog, organizationId)).status).toBe(200);
});

it('an organization has at most its share, however many users it has, and a bounded queue', async () => {
  const organizationId = await dashboard.addOrganization();
  const members = await Promise.all(
    Array.from({ length: 5 }, async () =>
      dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] })),
    ),
  );
  let pending: ReturnType<typeof usage>[] = [];
  await whileUsageIsSlow(async () => {
    let refused = 0;
    const ask = async (member: Browser) => {
      const reply = await usage(member, organizationId);
      if (reply.status === 429) refused++;
      return reply;
    };
    pending = members.flatMap((member) => Array.from({ length: 50 }, () => ask(member)));
    await untilWaiting(3);
    // Requests beyond the bound of the queue are refused at once.
    expect((await Promise.race(pending)).body.problem).toBe('too_many_requests');
    // On a busy machine 250 requests take a while to arrive.
    await expect.poll(() => refused, { timeout: 20_000 }).toBeGreaterThan(100);
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    expect((await operator.get(`/api/organizations/${organizationId}`)).status).toBe(200);
  });
  await Promise.all(pending);
});
