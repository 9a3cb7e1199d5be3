import { hash } from 'node:crypto';
import { newId } from '#core/ids.ts';
import { newKeySecret } from '#core/key-secret.ts';
import type { Route } from '#dashboard/server/http/route.ts';
import { changeView } from '#database/organizations/saved-views.ts';
import { createTopUp } from '#database/payments/top-ups.ts';
import type { Role } from '#database/schema/roles.ts';
import { sessionsOf } from '#database/sign-in/sessions.ts';
import { sql } from '../../harness/database.ts';
import { startScriptedStripe } from '../../stripe/scripted-stripe.ts';
import { startApi } from './api-stand-in.ts';
import type { Browser, Reply } from './dashboard-browser.ts';
import type { Decision } from './dashboard-routes.ts';
import { startDashboard, type TestDashboard } from './dashboard-server.ts';

/**
 * Two organizations with their people, and an operator. Requests are about the first organization.
 */
export const ACTORS = [
  'nobody',
  'member',
  'owner',
  'member of another organization',
  'owner of another organization',
  'operator',
] as const;
export type Actor = (typeof ACTORS)[number];

export interface Scene {
  readonly dashboard: TestDashboard;
  readonly organizationId: string;
  readonly otherId: string;
  /** Hashes of the keys that were made here, in the form of the database. */
  readonly hashes: readonly string[];
  /** A browser with a new session of the actor. */
  browserOf(actor: Actor): Promise<Browser>;
  /**
   * New objects of the first organization for the parameters of a path; a device is the actor's.
   */
  parametersFor(route: Route, actor: Actor): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
}

export async function openScene(role?: Role): Promise<Scene> {
  const [api, stripe] = await Promise.all([startApi(), startScriptedStripe()]);
  const dashboard = await startDashboard({ playgroundUrl: api.url, stripe: stripe.config }, role);
  const organizationId = await dashboard.addOrganization('First');
  const otherId = await dashboard.addOrganization('Other');
  const users = {
    member: await dashboard.addUser({ in: [organizationId, 'member'] }),
    owner: await dashboard.addUser({ in: [organizationId, 'owner'] }),
    'member of another organization': await dashboard.addUser({ in: [otherId, 'member'] }),
    'owner of another organization': await dashboard.addUser({ in: [otherId, 'owner'] }),
    operator: await dashboard.addUser({ operator: true }),
  };
  const hashes: string[] = [];

  async function addKey(): Promise<string> {
    const { secret, identity } = newKeySecret(Date.now());
    hashes.push(hash('sha256', secret, 'hex'), hash('sha256', secret, 'base64'));
    const key = { ...identity, organizationId, name: 'key', scopes: ['chat'] as const };
    await dashboard.administration.createKey(key, { actor: users.member.email, userId: users.member.id });
    return identity.id;
  }

  async function addRequest(): Promise<string> {
    const id = newId('log', Date.now());
    await sql(
      dashboard.databaseUrl,
      `insert into request_log (id, organization_id, key_id, request_id, route, model_known, address, status, streamed, replayed, client_gone, duration_ms)
       values ('${id}', '${organizationId}', '${newId('key', 1)}', gen_random_uuid(), 'models', false, '192.0.2.1', 200, false, false, false, 3)`,
    );
    return id;
  }

  async function addTopUp(): Promise<string> {
    const id = newId('top', Date.now());
    await createTopUp(dashboard.database, { id, organizationId, amountCents: 1000n, createdBy: users.owner.email });
    return id;
  }

  async function addView(maker: keyof typeof users, of: { organizationId?: string }): Promise<string> {
    const view = { name: newId('viw', Date.now()), page: 'overview', search: '' } as const;
    const { email: actor, id: userId } = users[maker];
    const by = { actor, userId };
    const made = await changeView(dashboard.database, { ...of, allows: () => true, change: () => view }, by);
    return made.kind === 'done' ? made.view.id : made.kind;
  }

  const make: Readonly<Record<string, (actor: Actor) => Promise<string>>> = {
    organization: async () => organizationId,
    key: addKey,
    request: addRequest,
    topUp: addTopUp,
    view: () => addView('member', { organizationId }),
    operatorsView: () => addView('operator', {}),
    user: async () => (await dashboard.addUser({ in: [organizationId, 'member'] })).id,
    // An invited person is not a user yet.
    member: async () => (await dashboard.addUser({ in: [organizationId, 'member'], invited: true })).id,
    device: async (actor) => {
      const userId = users[actor === 'nobody' ? 'member' : actor].id;
      await dashboard.signedIn({ id: userId });
      const [newest] = await sessionsOf(dashboard.database, userId);
      return newest?.id ?? '';
    },
  };

  return {
    dashboard,
    organizationId,
    otherId,
    hashes,
    browserOf: async (actor) => (actor === 'nobody' ? dashboard.browser() : dashboard.signedIn(users[actor])),
    async parametersFor({ path }, actor) {
      const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
      const special: Readonly<Record<string, string>> = {
        ...(path.includes('/members/') && { user: 'member' }),
        ...(path.startsWith('/api/views/') && { view: 'operatorsView' }),
      };
      const made = names.map((name) => special[name] ?? name);
      const values = await Promise.all(made.map((name) => make[name]?.(actor)));
      return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
    },
    close: async () => {
      await dashboard.close();
      await Promise.all([api.close(), stripe.close()]);
    },
  };
}

let asked = 0;

/** Sends the decision's valid request. Invited people and views are new each time. */
export function ask(
  browser: Browser,
  { method, path }: Pick<Route, 'method' | 'path'>,
  parameters: Readonly<Record<string, string>>,
  { input = {}, tells }: Decision,
): Promise<Reply<object>> {
  const address = path.replace(/:(\w+)/g, (_, name: string) => parameters[name] ?? '');
  if (method === 'GET') {
    const query = new URLSearchParams(input as Record<string, string>).toString();
    return browser.get(query === '' ? address : `${address}?${query}`);
  }
  const somebody = tells === 'link' && 'email' in input ? { email: `invited-${++asked}@example.com` } : {};
  const view = method === 'POST' && path.endsWith('/views') ? { name: `View ${++asked}` } : {};
  return browser.send(method, address, { ...input, ...somebody, ...view });
}
