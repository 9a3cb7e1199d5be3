import type pg from 'pg';
import { compareClocks, type ServerClock } from '#core/net/server-clock.ts';
import type { DatabaseConnections } from '#core/process-figures.ts';
import { EVENT_MISSED } from './alerts/operator-crossings.ts';
import { GuardedClient, only, run, sql } from './connection/connection-pool.ts';
import { asStoreError } from './connection/unavailable.ts';
import { CONNECTIONS, DEAD_LETTERS } from './process-reports/database-figures.ts';
import { currentConfiguration, listProcesses } from './process-reports/process-reports.ts';
import { APPLIED_MIGRATIONS, type AppliedMigration, isBeforeBaseline, servesCode } from './schema/migrate.ts';
import { readSchemaFiles } from './schema/schema-files.ts';

export type DatabaseDiagnosis = Awaited<ReturnType<typeof openDiagnosis>>;

/** A name of the configuration, and the organizations that use it. */
export interface NameUse {
  readonly name: string;
  /** Number of organizations. */
  readonly count: number;
  /** Ids of the first few organizations. */
  readonly organizations: readonly string[];
}

export interface ServerFigures extends ServerClock, DatabaseConnections {
  /** For example `18.4`. */
  readonly version: string;
  /** For example `180004`. */
  readonly versionNumber: number;
  /** True for a standby, which accepts no writes. */
  readonly inRecovery: boolean;
  /** True if the server, the database or the user defaults to read-only transactions. */
  readonly readOnly: boolean;
}

export interface LedgerFigures {
  readonly organizations: number;
  readonly deadLetters: number;
  /** First few organizations whose account differs from the state after their last entry. */
  readonly differing: readonly string[];
  /** Age of the oldest entry that no checkpoint covers. */
  readonly uncheckpointedHours: number;
  /**
   * Day up to which costs are summed up. Null if the sums are not late: every day with charges that
   * ended nine hours ago or earlier has its sums.
   */
  readonly costsUntil: string | null;
}

const CONNECT_MS = 3_000;
const STATEMENT_MS = 5_000;
/** Limit of a reply. PostgreSQL's own timeout is first, unless it or the network is frozen. */
const ANSWER_MS = 5_500;

/** Diagnoses a database on one connection, read-only. Rejects with StoreUnavailable. */
export async function openDiagnosis(url: string) {
  const client = new GuardedClient({
    connectionString: url,
    application_name: 'inference-gateway doctor',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
  });
  try {
    await client.connect();
    const server = await look(client);
    await client.query(`set default_transaction_read_only = on; set statement_timeout = ${STATEMENT_MS}`);
    // Runs concurrent checks one after another, because a connection runs one statement at a time.
    let former: Promise<unknown> = Promise.resolve();
    const inTurn = <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
      const answer = former.then(ask);
      former = answer.catch(() => undefined);
      return answer;
    };
    return {
      server,
      schema: () => inTurn(() => schema(client)),
      ledger: () => inTurn(() => ledger(client)),
      processes: () => inTurn(() => listProcesses(client)),
      /** `undefined`: no process has reported a configuration. */
      configuration: () => inTurn(() => currentConfiguration(client)),
      hasEnabledUser: (email: string) => inTurn(async () => (await run(client, ENABLED_USER, [email])).length > 0),
      priceLists: () => inTurn(() => run<NameUse>(client, PRICE_LISTS, [])),
      /** At most 1000 models that usable keys are bound to and that are none of `configured`. */
      modelsOfKeysBut: (configured: readonly string[]) =>
        inTurn(() => run<NameUse>(client, MODELS_OF_KEYS, [configured])),
      /** Payments of the last day that were read although Stripe had sent no event. */
      missedEvents: () => inTurn(async () => (await only<{ count: number }>(client, MISSED_EVENTS, [])).count),
      /** At most 20 addresses with X-Forwarded-For in the last hour, not in `trusted_proxies`. */
      untrustedProxies: () => inTurn(() => untrustedProxies(client)),
      close: () => client.end(),
    };
  } catch (error) {
    // Does not wait for the end: an unresponsive server would not confirm it either.
    client.end().catch(() => undefined);
    throw asStoreError(error);
  }
}

const SERVER = sql('diagnose_server')`
  select current_setting('server_version') as version, current_setting('server_version_num')::integer as "versionNumber",
      pg_is_in_recovery() as "inRecovery", current_setting('default_transaction_read_only')::boolean as "readOnly",${CONNECTIONS}`;
const CLOCK = sql('diagnose_clock')`select extract(epoch from clock_timestamp()) * 1000 as ms`;

const ENABLED_USER = sql('diagnose_user')`select from users where email = $1 and disabled_at is null`;

async function look(client: pg.Client): Promise<ServerFigures> {
  const told = await only<Omit<ServerFigures, keyof ServerClock>>(client, SERVER, []);
  // Prepares the statement before the measurement.
  await run(client, CLOCK, []);
  const clock = await compareClocks(async () => Number((await run<{ ms: string }>(client, CLOCK, []))[0]?.ms));
  return { ...told, ...clock };
}

const APPLIED = { name: 'diagnose_schema', text: APPLIED_MIGRATIONS };
const HAS_SCHEMA = sql('diagnose_has_schema')`select to_regclass('schema_migrations') is not null as "hasSchema"`;

async function schema(client: pg.Client) {
  const { migrations: ours, version } = await readSchemaFiles();
  const { hasSchema } = await only<{ hasSchema: boolean }>(client, HAS_SCHEMA, []);
  const rows = hasSchema ? await run<AppliedMigration>(client, APPLIED, []) : [];
  const applied = new Map(rows.map(({ version, checksum }) => [version, checksum]));
  const newer = rows.filter((row) => row.version > version);
  const versions = (serving: boolean) =>
    newer.filter((one) => servesCode(one, version) === serving).map((one) => one.version);
  return {
    /** Schema version of this code. */
    version,
    /** Number of applied migrations, including the baseline. */
    applied: applied.size,
    newest: rows.at(-1)?.version ?? 0,
    /** True for a database of a release before 0.2.0, which no release can upgrade. */
    isBeforeBaseline: isBeforeBaseline(rows),
    missing: ours.filter((one) => !applied.has(one.version)).map(({ name }) => name),
    /** Migrations of newer code with which this code still runs. */
    ahead: versions(true),
    /** Migrations of newer code with which this code does not run. */
    unknown: versions(false),
    /** Migrations whose files differ from ours. */
    changed: ours
      .filter((one) => applied.has(one.version) && applied.get(one.version) !== one.checksum)
      .map(({ name }) => name),
  };
}

export type SchemaFigures = Awaited<ReturnType<typeof schema>>;

/** Reads each organization's last entry by index: enough to notice that accounts were changed. */
const LEDGER = sql('diagnose_ledger')`
  select (select count(*)::integer from accounts) as organizations,
      ${DEAD_LETTERS} as "deadLetters",
      array(
        select a.organization_id from accounts a
        left join lateral (
          select e.sequence, e.balance_nano_usd from ledger_entries e
          where e.organization_id = a.organization_id order by e.sequence desc limit 1
        ) last on true
        where (a.sequence, a.balance_nano_usd) is distinct from (coalesce(last.sequence, 0), coalesce(last.balance_nano_usd, 0))
        order by a.organization_id limit 10
      ) as differing,
      (select coalesce(max(extract(epoch from now() - (
          select e.created_at from ledger_entries e where e.organization_id = a.organization_id and e.sequence = 1 + coalesce(
            (select max(c.sequence) from ledger_checkpoints c where c.organization_id = a.organization_id), 0)
        )) / 3600), 0)::float8 from accounts a) as "uncheckpointedHours",
      (select summed_until::text from cost_progress where exists (
          select from generations where id >= id_floor('gen', summed_until at time zone 'UTC')
            and id < id_floor('gen', date_trunc('day', now() - interval '9 hours', 'UTC'))
        )) as "costsUntil"`;

/** Runs as one statement, which sees one snapshot, so concurrent charges cause no difference. */
const ledger = (client: pg.Client) => only<LedgerFigures>(client, LEDGER, []);

const PRICE_LISTS = sql('diagnose_price_lists')`
  select price_list as name, count(*)::integer as count, (array_agg(id order by id))[1:5] as organizations
    from organizations where price_list is not null group by price_list order by price_list limit 1000`;

const MODELS_OF_KEYS = sql('diagnose_models_of_keys')`
  select model as name, count(distinct organization_id)::integer as count,
      (array_agg(distinct organization_id order by organization_id))[1:5] as organizations
    from keys cross join unnest(models) model
    where model <> all ($1::text[]) and not playground
      and (revoked_at is null or revoked_at > now()) and (expires_at is null or expires_at > now())
    group by model order by model limit 1000`;

const MISSED_EVENTS = sql('diagnose_missed_events')`
  select count(*)::integer as count from top_ups where ${EVENT_MISSED}`;

const UNTRUSTED_PROXIES = sql('diagnose_untrusted_proxies')`
  select address from untrusted_proxies where seen_at > now() - interval '1 hour' order by seen_at desc limit 20`;

async function untrustedProxies(client: pg.Client): Promise<readonly string[]> {
  const rows = await run<{ address: string }>(client, UNTRUSTED_PROXIES, []);
  return rows.map(({ address }) => address);
}
