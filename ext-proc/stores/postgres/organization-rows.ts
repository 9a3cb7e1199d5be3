import type pg from 'pg';
import type {
  CreditEntry,
  CreditResult,
  NewOrganization,
  OrganizationChange,
  OrganizationRecord,
} from '../administration.ts';
import { inTransaction, run, type Statement } from './connection-pool.ts';
import { limitsOf } from './key-lookup.ts';
import { isOutOfRange } from './unavailable.ts';

const COLUMNS = `o.id, o.name, (extract(epoch from o.suspended_at) * 1000)::bigint as suspended_ms, o.allow_n, o.concurrency, o.rpm, o.tpm,
  o.daily_budget_nano_usd, o.max_tokens, (extract(epoch from o.created_at) * 1000)::bigint as created_ms`;
const SELECT = `select ${COLUMNS}, a.balance_nano_usd from organizations o join accounts a on a.organization_id = o.id`;

const LIST: Statement = { name: 'list_organizations', text: `${SELECT} order by o.created_at, o.id` };
const SHOW: Statement = { name: 'show_organization', text: `${SELECT} where o.id = $1` };
const INSERT: Statement = {
  name: 'insert_organization',
  text: `insert into organizations (id, name, allow_n, concurrency, rpm, tpm, daily_budget_nano_usd, max_tokens)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
};
const OPEN_ACCOUNT: Statement = { name: 'open_account', text: 'insert into accounts (organization_id) values ($1)' };
const SUSPEND: Statement = {
  name: 'set_suspended',
  text: 'update organizations set suspended_at = case when $2 then coalesce(suspended_at, now()) end where id = $1',
};
const CREDIT: Statement = { name: 'add_credit', text: 'select * from add_credit($1, $2, $3, $4, $5)' };

interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly suspended_ms: string | null;
  readonly allow_n: boolean;
  readonly concurrency: number;
  readonly rpm: string | null;
  readonly tpm: string | null;
  readonly daily_budget_nano_usd: string | null;
  readonly max_tokens: string | null;
  readonly created_ms: string;
  readonly balance_nano_usd: string;
}

type Connection = pg.Pool | pg.PoolClient;

export async function createOrganization(
  pool: pg.Pool,
  organization: NewOrganization,
  openingCredit: CreditEntry | undefined,
): Promise<OrganizationRecord> {
  return inTransaction(pool, 'begin', async (client) => {
    const { id, name, allowMultipleCompletions, concurrency, limits, maxTokens } = organization;
    await run(client, INSERT, [
      id,
      name,
      allowMultipleCompletions,
      concurrency,
      limits.requestsPerMinute ?? null,
      limits.tokensPerMinute ?? null,
      limits.dailyBudgetNanoUsd ?? null,
      maxTokens ?? null,
    ]);
    await run(client, OPEN_ACCOUNT, [id]);
    if (openingCredit) await addCredit(client, id, openingCredit);
    const created = await findOrganization(client, id);
    if (!created) throw new Error('an organization vanished in the transaction that made it');
    return created;
  });
}

export async function listOrganizations(pool: pg.Pool): Promise<readonly OrganizationRecord[]> {
  return (await run<OrganizationRow>(pool, LIST, [])).map(recordOf);
}

export async function findOrganization(on: Connection, id: string): Promise<OrganizationRecord | undefined> {
  const [row] = await run<OrganizationRow>(on, SHOW, [id]);
  return row && recordOf(row);
}

/** Column of each setting that a change can name. */
const CHANGEABLE: readonly (readonly [keyof OrganizationChange, string])[] = [
  ['name', 'name'],
  ['allowMultipleCompletions', 'allow_n'],
  ['concurrency', 'concurrency'],
  ['maxTokens', 'max_tokens'],
  ['requestsPerMinute', 'rpm'],
  ['tokensPerMinute', 'tpm'],
  ['dailyBudgetNanoUsd', 'daily_budget_nano_usd'],
];

export async function updateOrganization(
  pool: pg.Pool,
  id: string,
  change: OrganizationChange,
): Promise<OrganizationRecord | undefined> {
  const columns = CHANGEABLE.filter(([setting]) => change[setting] !== undefined);
  if (columns.length > 0) {
    const assignments = columns.map(([, column], index) => `${column} = $${index + 2}`).join(', ');
    const name = `update_organization_${columns.map(([, column]) => column).join('_')}`.slice(0, 63);
    const text = `update organizations set ${assignments} where id = $1`;
    await run(pool, { name, text }, [id, ...columns.map(([setting]) => change[setting])]);
  }
  return findOrganization(pool, id);
}

export async function setSuspended(
  pool: pg.Pool,
  id: string,
  suspended: boolean,
): Promise<OrganizationRecord | undefined> {
  await run(pool, SUSPEND, [id, suspended]);
  return findOrganization(pool, id);
}

export async function addCredit(on: Connection, organizationId: string, entry: CreditEntry): Promise<CreditResult> {
  const values = [organizationId, entry.amountNanoUsd, entry.note ?? null, entry.reference ?? null, entry.actor];
  try {
    const [row] = await run<{ applied: boolean; amount_nano_usd: string; balance_nano_usd: string }>(
      on,
      CREDIT,
      values,
    );
    if (!row) return { kind: 'unknown_organization' };
    const balanceNanoUsd = BigInt(row.balance_nano_usd);
    if (row.applied) return { kind: 'applied', balanceNanoUsd };
    return { kind: 'repeated', amountNanoUsd: BigInt(row.amount_nano_usd), balanceNanoUsd };
  } catch (error) {
    if (isOutOfRange(error)) return { kind: 'out_of_range' };
    throw error;
  }
}

function recordOf(row: OrganizationRow): OrganizationRecord {
  return {
    id: row.id,
    name: row.name,
    ...(row.suspended_ms === null ? {} : { suspendedAtMs: Number(row.suspended_ms) }),
    allowMultipleCompletions: row.allow_n,
    concurrency: row.concurrency,
    ...(row.max_tokens === null ? {} : { maxTokens: Number(row.max_tokens) }),
    limits: limitsOf(row.rpm, row.tpm, row.daily_budget_nano_usd),
    balanceNanoUsd: BigInt(row.balance_nano_usd),
    createdAtMs: Number(row.created_ms),
  };
}
