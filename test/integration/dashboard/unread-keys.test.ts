import { type ClientRequest, get } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const KEYS = 600;
/** Lists are requested in pairs, because two reads of a user run at a time. */
const PAIRS = 7;
const MB = 1024 * 1024;

const dashboard = opened(startDashboard);
const requests: ClientRequest[] = [];
let member: Browser;
let stranger: Browser;
let path = '';
let otherPath = '';

/** Makes 600 usable and as many revoked keys, each with 200 addresses. */
beforeAll(async () => {
  const organizationId = await dashboard.addOrganization();
  const otherId = await dashboard.addOrganization('Other');
  member = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
  stranger = await dashboard.signedIn(await dashboard.addUser({ in: [otherId, 'member'] }));
  path = `/api/organizations/${organizationId}/keys`;
  otherPath = `/api/organizations/${otherId}/keys`;
  await sql(
    dashboard.databaseUrl,
    `insert into keys (id, organization_id, name, hash, last4, scopes, ip_ranges, created_at, revoked_at)
     select 'key-' || lpad(n::text, 26, '0'), '${organizationId}', 'k', sha256(n::text::bytea), 'abcd', array['chat'],
       (select array_agg('2001:db8:1111:2222:3333:4444:5555:' || to_hex(4096 + r) || '/128') from generate_series(1, 200) r),
       now() - n * interval '1 second', case when n > ${KEYS} then now() end
       from generate_series(1, ${2 * KEYS}) n`,
  );
});
afterAll(() => {
  for (const request of requests) request.destroy();
});

it('key lists that a member requests and does not read need little memory', async () => {
  expect((await member.get<{ keys: unknown[] }>(path)).body.keys).toHaveLength(2 * KEYS);
  const before = heldBytes();
  for (let pair = 0; pair < PAIRS; pair++) await Promise.all([unread(), unread()]);
  expect((await stranger.get(otherPath)).status).toBe(200);
  // All 14 lists together would need 150 MB, as long as nobody reads them. The kernel returns those
  // of evicted responses a little later.
  await expect.poll(() => (heldBytes() - before) / MB).toBeLessThan(60);
});

/** Buffers of this process in bytes, without those that nothing refers to. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Resolves when the list has begun to arrive. A busy database may be too slow at first (503). */
function unread(): Promise<void> {
  const cookie = [...member.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return new Promise((resolve, reject) => {
    const request = get(`${dashboard.origin}${path}`, { headers: { cookie }, agent: false }, (response) => {
      response.on('error', () => undefined);
      if (response.statusCode === 200) resolve();
      else if (response.statusCode === 503) resolve(unread());
      else reject(new Error(`status ${response.statusCode}`));
    });
    requests.push(request.on('error', reject));
  });
}
