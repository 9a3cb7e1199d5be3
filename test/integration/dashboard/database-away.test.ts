import { expect, inject, it } from 'vitest';
import { embeddedDatabaseUrl } from '#core/config/runtime-paths.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { startDashboard } from './dashboard-server.ts';

const dashboard = opened(startDashboard);

it('reports an unavailable database to everybody in the same way, and works again when it is back', async () => {
  const organizationId = await dashboard.addOrganization();
  const owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  const keys = `/api/organizations/${organizationId}/keys`;
  const name = /\/(\w+)\?/.exec(dashboard.databaseUrl)?.[1] ?? '';
  const server = embeddedDatabaseUrl({ socketDir: inject('postgresSocketDir') }, 'postgres');
  // The dashboard would reconnect at once, and open sessions prevent renaming the database.
  await sql(server, `alter database ${name} allow_connections false`);
  await sql(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  await sql(server, `alter database ${name} rename to ${name}_away`);
  const replies = [
    await owner.get('/api/session'),
    await owner.get(keys),
    await owner.send('POST', keys, { name: 'k', scopes: ['chat'] }),
    await dashboard.browser().send('POST', '/api/session', { email: 'a@example.com', password: 'x' }),
  ];
  const message = 'The database does not respond at the moment.';
  for (const { status, body, headers } of replies) {
    expect([status, body]).toEqual([503, { problem: 'unavailable', message, retryAfterSeconds: 5 }]);
    expect(headers).toHaveProperty('retry-after', '5');
    expect(headers).not.toHaveProperty('set-cookie');
  }
  expect((await dashboard.browser().get('/api/session')).status).toBe(401);
  expect((await dashboard.browser().get('/live')).status).toBe(200);
  await sql(server, `alter database ${name}_away allow_connections true`);
  await sql(server, `alter database ${name}_away rename to ${name}`);
  expect((await owner.get(keys)).body).toEqual({ keys: [] });
});
