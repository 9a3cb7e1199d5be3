import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { newId } from '#core/ids.ts';
import type { NanoUsd } from '#core/money.ts';
import { DEFAULT_RULES, type RateLimits } from '#core/principal.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { openPostgres, type Postgres, type PostgresOptions } from '#database/open.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { type Administration, createAdministration } from './administration.ts';
import { newDatabase } from './new-database.ts';

/** A new database on the PostgreSQL server of the test run, or on a server of the test's own. */
export async function createDatabase(socketDir: string = inject('postgresSocketDir')): Promise<string> {
  return (await newDatabase(socketDir)).url;
}

/** A database without the schema, for tests of migrations. */
export async function createEmptyDatabase(): Promise<string> {
  return (await newDatabase(inject('postgresSocketDir'), 'empty')).url;
}

/** Runs SQL on a connection of its own, outside the gateway's pools. */
export async function sql<R extends object = Record<string, unknown>>(url: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 20_000, query_timeout: 20_000 });
  await client.connect();
  try {
    const result = await client.query<R>(text);
    return result.rows;
  } finally {
    await client.end();
  }
}

/**
 * The number of statements in this database that wait for a lock. Read on another connection,
 * because a transaction always sees the same activity.
 */
export async function lockWaits(url: string): Promise<number> {
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  return (await sql(url, waiting)).length;
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
}

/** The stores of a gateway process, with the operators' administration of the same database. */
export interface TestStore extends Postgres {
  readonly administration: Administration;
  readonly logged: LogLine[];
}

export async function openStore(url: string, options: Omit<PostgresOptions, 'url' | 'log'> = {}): Promise<TestStore> {
  const logged: LogLine[] = [];
  const log = (level: LogLine['level']) => (_fields: object, message: string) => void logged.push({ level, message });
  const store = await openPostgres({
    url,
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    timeouts: PATIENT,
    ...options,
  });
  const changes = createPool(url, 4, options.timeouts ?? PATIENT, SILENT);
  const close = async () => {
    await Promise.all([changes.end(), store.close()]);
  };
  return { ...store, administration: createAdministration(changes), logged, close };
}

export const SILENT = { info: () => {}, warn: () => {}, error: () => {} };

/** Actor of the changes that tests make. */
export const BY = { actor: 'test' };

export interface Customer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly hash: Buffer;
}

export async function addCustomer(
  { administration }: Pick<TestStore, 'administration'>,
  balanceNanoUsd: NanoUsd = 1_000_000n,
  limits: RateLimits = {},
): Promise<Customer> {
  const organizationId = newId('org', Date.now());
  await administration.createOrganization(
    { id: organizationId, name: 'test', ...DEFAULT_RULES, ...limits },
    BY,
    balanceNanoUsd === 0n ? undefined : { amountNanoUsd: balanceNanoUsd },
  );
  return { organizationId, ...(await addKey({ administration }, organizationId)) };
}

export async function addKey({ administration }: Pick<TestStore, 'administration'>, organizationId: string) {
  const keyId = newId('key', Date.now());
  const hash = randomBytes(32);
  const settings = { organizationId, name: 'test', scopes: ['chat'] as const };
  await administration.createKey({ ...settings, id: keyId, hash, last4: 'test' }, BY);
  return { keyId, hash };
}

export const DAY = 20_778;

/** Unless `prices` are given, the default prices yield `costNanoUsd` for the default usage. */
export function settlementOf(customer: Customer, changes: Partial<Settlement> = {}): Settlement {
  const { costNanoUsd = 100n } = changes;
  return {
    generationId: newId('gen', Date.now()),
    organizationId: customer.organizationId,
    keyId: customer.keyId,
    day: DAY,
    model: 'gpt-5-mini',
    provider: 'openai',
    providerModel: 'gpt-5-mini-2026',
    createdAtMs: Date.now(),
    streamed: true,
    cancelled: false,
    usage: {
      promptTokens: 30,
      completionTokens: 7,
      cachedTokens: 2,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 1,
    },
    usageCounted: false,
    prices: {
      inputPicoUsd: 0n,
      cachedInputPicoUsd: 500n * costNanoUsd,
      cacheWritePicoUsd: 0n,
      cacheWrite1hPicoUsd: 0n,
      outputPicoUsd: 0n,
    },
    costNanoUsd,
    holdNanoUsd: costNanoUsd,
    firstEventMs: 12,
    generationTimeMs: 34,
    ...changes,
  };
}
