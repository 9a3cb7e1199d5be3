import { systemClock } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { createLog, type Log } from '#core/log/log.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import { createApp } from '#dashboard/server/app.ts';
import { DashboardTurns } from '#dashboard/server/fairness/dashboard-turns.ts';
import { Places } from '#dashboard/server/fairness/places.ts';
import { openDatabase, openEntry } from '#dashboard/server/fairness/stores.ts';
import { TABLE_PLACES } from '#dashboard/server/http/csv-downloads.ts';
import type { Settings } from '#dashboard/server/http/settings.ts';
import { watchProxies } from '#dashboard/server/http/untrusted-proxies.ts';
import { listenOn } from '#dashboard/server/listen.ts';
import { createIssuers } from '#dashboard/server/oidc/issuers.ts';
import { Playground } from '#dashboard/server/playground/playground.ts';
import { ROUTES } from '#dashboard/server/routes.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import type { ChangeLimits } from '#database/audit/change-counts.ts';
import { invite } from '#database/members/invitations.ts';
import { recordProxy } from '#database/process-reports/seen-proxies.ts';
import type { Role } from '#database/schema/roles.ts';
import { createSession } from '#database/sign-in/sessions.ts';
import type { MemberRole } from '#database/users/user-rows.ts';
import { createUser } from '#database/users/users.ts';
import { BY, createDatabase, openStore } from '../../harness/database.ts';
import { migratedFor } from '../../harness/database-logins.ts';
import { type Browser, createBrowser } from './dashboard-browser.ts';

/**
 * The dashboard's server with a separate database and a real listener, without a built page.
 */
export interface TestDashboard {
  /** The URL for the owner of the database. */
  readonly databaseUrl: string;
  readonly database: ReturnType<typeof openDatabase>;
  readonly entry: ReturnType<typeof openEntry>;
  readonly administration: Awaited<ReturnType<typeof openStore>>['administration'];
  readonly origin: string;
  readonly log: Log;
  readonly settings: Settings;
  /** Sets settings for the following requests. All others get their defaults. */
  configure(change: Partial<Settings>): void;
  /** Sets the clock of the server, but not of the database. `undefined` is the machine's clock. */
  setNow(nowMs: number | undefined): void;
  addOrganization(name?: string, limits?: object): Promise<string>;
  addUser(user?: TestUser): Promise<{ readonly id: string; readonly email: string }>;
  /** A browser with a session, which is created without the slow comparison of a password. */
  signedIn(user: { readonly id: string; readonly passwordHash?: string }): Promise<Browser>;
  /** A browser that is not signed in. */
  browser(): Browser;
  close(): Promise<void>;
}

export interface TestUser {
  readonly email?: string;
  readonly operator?: boolean;
  readonly in?: readonly [organizationId: string, role: MemberRole];
  /**
   * Invited by an owner of the organization. Without an organization invited by the operator,
   * whose invitations are users without a password.
   */
  readonly invited?: boolean;
  /** The hash of a known password. By default no password matches the hash. */
  readonly passwordHash?: string;
}

/** A well-formed hash without a known password. */
const PASSWORD_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

const SETTINGS: Settings = {
  api: { host: '0.0.0.0', port: 8080 },
  apiSpeaksTls: false,
  apis: [],
  trustedProxies: [],
  privateNetworks: [],
  session: { idleMs: 604_800_000, absoluteMs: 2_592_000_000, freshPasswordMs: 600_000 },
  signIn: { password: true },
  brand: {},
};

/** Tests make more changes in a minute than a person does. */
const UNLIMITED: ChangeLimits = { perMinute: 1_000_000, perDay: 1_000_000 };

/** Starts a dashboard whose database user has this role, or is the owner by default. */
export async function startDashboard(
  change: Partial<Settings> = {},
  role?: Role,
  changeLimits: ChangeLimits = UNLIMITED,
): Promise<TestDashboard> {
  const ownersUrl = await createDatabase();
  const databaseUrl = role === undefined ? ownersUrl : await migratedFor(ownersUrl, role);
  const stores = await openStore(databaseUrl);
  const log = createLog(process.env.LOG_LEVEL ?? 'silent');
  const database = openDatabase(databaseUrl, log);
  const entry = openEntry(databaseUrl, log);
  let settings: Settings = { ...SETTINGS, ...change };
  let now: number | undefined;
  const { administration } = stores;
  const nowMs = () => now ?? Date.now();
  const untrustedProxies = watchProxies(log, systemClock, (address) => recordProxy(database, address));
  const turns = new DashboardTurns();
  const deps = {
    ...{ log, database, entry, turns, changeLimits },
    ...{ settings: () => settings, nowMs, untrustedProxies, issuers: createIssuers(log, systemClock) },
    playground: new Playground(),
    tables: new Places(TABLE_PLACES),
    priceLists: () => ['partner'],
    compareWithCatalogue: () => ({ asOf: '2026-11-23', differences: [], disputed: [] }),
  };
  const listener = await listenOn(createApp(ROUTES, deps, new Map(), log), { host: '127.0.0.1', port: 0 });
  const origin = `http://127.0.0.1:${listener.port}`;
  let users = 0;
  return {
    databaseUrl: ownersUrl,
    database,
    entry,
    administration,
    origin,
    log,
    get settings() {
      return settings;
    },
    configure: (next) => {
      settings = { ...SETTINGS, ...next };
    },
    setNow: (nowMs) => {
      now = nowMs;
    },
    async addOrganization(name = 'Acme', limits = {}) {
      const id = newId('org', Date.now());
      const settled = { id, name, ...DEFAULT_RULES, ...limits };
      await administration.createOrganization(settled, BY);
      return id;
    },
    async addUser(user = {}) {
      const id = newId('usr', Date.now());
      const email = user.email ?? `user-${++users}@example.com`;
      const [organizationId, role] = user.in ?? [];
      if (user.invited && organizationId && role) {
        const { tokenHash } = newToken();
        await invite(database, { id, organizationId, email, role, tokenHash, byOperator: false }, BY);
        return { id, email };
      }
      const membership = organizationId && role ? { membership: { organizationId, role } } : {};
      const password = user.invited ? {} : { passwordHash: user.passwordHash ?? PASSWORD_HASH };
      const isOperator = user.operator === true;
      const made = await createUser(database, { id, email, isOperator, ...password, ...membership }, BY);
      if (made.kind !== 'created') throw new Error(`the user was not made: ${made.kind}`);
      return { id, email };
    },
    async signedIn({ id: userId, passwordHash = PASSWORD_HASH }) {
      const { token, tokenHash } = newToken();
      const session = { id: newId('ses', Date.now()), tokenHash, userId, passwordHash };
      if (!(await createSession(database, { ...session, address: '127.0.0.1' }))) throw new Error('no session began');
      const browser = createBrowser(origin);
      browser.cookies.set('gateway_session', token);
      return browser;
    },
    browser: () => createBrowser(origin),
    async close() {
      await listener.close();
      await Promise.all([database.end(), entry.end(), stores.close()]);
    },
  };
}
