import { hash, randomBytes } from 'node:crypto';
import { newId } from '#core/ids.ts';
import { formatUsd, parseUsd } from '#core/money.ts';
import { DEFAULT_RULES, type Scope } from '#core/principal.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import type { KeySettings } from '#database/keys/key-records.ts';
import type { OrganizationSettings } from '#database/organizations/organization-records.ts';
import { prepareDatabase } from '#database/schema/prepare.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { type Administration, createAdministration } from './administration.ts';

/**
 * An operator's changes, made directly on the database while the gateway runs. The command line has
 * tests of its own.
 */
export interface Operator {
  readonly administration: Administration;
  /** Creates an organization with credit and one key. */
  customer(options?: CustomerOptions): Promise<Customer>;
  /** Creates another key of the organization. */
  addKey(
    organizationId: string,
    options?: Pick<CustomerOptions, 'scopes' | 'key'>,
  ): Promise<Pick<Customer, 'keyId' | 'key'>>;
  credit(organizationId: string, usd: string): Promise<void>;
  balance(organizationId: string): Promise<number>;
  /** Throws with the differences if balance, ledger and generations disagree. */
  verifyLedger(): Promise<void>;
  close(): Promise<void>;
}

/** Actor of the changes that tests make. */
export const BY = { actor: 'test' };

export interface CustomerOptions {
  /** Decimal USD; default 100. */
  readonly credit?: string;
  readonly organization?: Partial<OrganizationSettings>;
  readonly scopes?: readonly Scope[];
  readonly key?: Partial<KeySettings>;
}

export interface Customer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly key: string;
}

/** `shipped` resolves when the gateway processes have shipped their charges. */
export async function openOperator(databaseUrl: string, shipped = async (): Promise<void> => {}): Promise<Operator> {
  const pool = createPool(databaseUrl, 4, PATIENT, silent);
  const stopPreparing = await prepareDatabase(databaseUrl, pool, silent);
  const administration = createAdministration(pool);
  const credit = async (organizationId: string, usd: string): Promise<void> => {
    const amountNanoUsd = parseUsd(usd);
    if (amountNanoUsd === undefined) throw new Error(`not an amount: ${usd}`);
    if (amountNanoUsd !== 0n) await administration.credit(organizationId, { amountNanoUsd }, BY);
  };
  return {
    administration,
    credit,
    customer: async (options = {}) => {
      const organizationId = newId('org', Date.now());
      await administration.createOrganization(
        { id: organizationId, name: 'test', ...DEFAULT_RULES, ...options.organization },
        BY,
      );
      await credit(organizationId, options.credit ?? '100');
      return { organizationId, ...(await createKey(administration, organizationId, options)) };
    },
    addKey: (organizationId, options = {}) => createKey(administration, organizationId, options),
    balance: async (organizationId) => {
      await shipped();
      const organization = await administration.organization(organizationId);
      if (organization === undefined) throw new Error(`no organization ${organizationId}`);
      return Number(formatUsd(organization.balanceNanoUsd));
    },
    verifyLedger: async () => {
      await shipped();
      const { differences } = await administration.verifyLedger();
      if (differences.length > 0) throw new Error(`the ledger disagrees: ${JSON.stringify(differences)}`);
    },
    close: () => {
      stopPreparing();
      return pool.end();
    },
  };
}

async function createKey(
  administration: Administration,
  organizationId: string,
  options: CustomerOptions,
): Promise<{ keyId: string; key: string }> {
  const key = `sk-gw-${randomBytes(32).toString('base64url')}`;
  const keyId = newId('key', Date.now());
  const created = await administration.createKey(
    {
      id: keyId,
      organizationId,
      name: 'test',
      scopes: options.scopes ?? ['chat', 'usage:read'],
      hash: hash('sha256', key, 'buffer'),
      last4: key.slice(-4),
      ...options.key,
    },
    BY,
  );
  if (created.kind !== 'created') throw new Error(`the key was refused: ${created.kind}`);
  return { keyId, key };
}

const silent = { info: () => {}, warn: () => {}, error: () => {} };
