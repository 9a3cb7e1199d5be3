import type { Administration } from '../harness/administration.ts';
import { BY, type Customer, type Operator } from '../harness/operator.ts';

/** A change after which a key is refused, and the change that undoes it. */
export interface KeyChanges {
  readonly name: string;
  /** The outcome of requests with the key in between. */
  readonly refused: string;
  refuse(customer: Customer): Promise<unknown>;
  /** Resolves with the key that is accepted from then on. */
  restore(customer: Customer): Promise<Pick<Customer, 'keyId' | 'key'>>;
}

/**
 * The changes of a run, made in turn. Every other one is a revocation, which is never undone: a new
 * key replaces the old one.
 */
export function keyChanges(operator: Operator): readonly KeyChanges[] {
  const { administration } = operator;
  const revocation: KeyChanges = {
    name: 'revocation',
    refused: '401 key_revoked',
    refuse: ({ keyId }) => administration.revokeKey(keyId, BY),
    restore: ({ organizationId }) => operator.addKey(organizationId),
  };
  const suspension: KeyChanges = {
    name: 'suspension',
    refused: '403 org_suspended',
    refuse: ({ organizationId }) => administration.setSuspended(organizationId, true, BY),
    restore: async (customer) => {
      await administration.setSuspended(customer.organizationId, false, BY);
      return customer;
    },
  };
  const settings = [
    setting(
      administration,
      'daily budget',
      '429 daily_budget_exceeded',
      { dailyBudgetNanoUsd: 1n },
      { dailyBudgetNanoUsd: null },
    ),
    setting(administration, 'scopes', '403 missing_scope', { scopes: ['usage:read'] }, { scopes: ['chat'] }),
    setting(administration, 'expiry', '401 key_expired', { expiresAtMs: 1 }, { expiresAtMs: null }),
  ];
  return [suspension, ...settings].flatMap((change) => [revocation, change]);
}

type Change = Parameters<Administration['updateKey']>[2];

function setting(
  administration: Administration,
  name: string,
  refused: string,
  refuse: Change,
  restore: Change,
): KeyChanges {
  const update = async ({ organizationId, keyId }: Customer, change: Change): Promise<void> => {
    const { kind } = await administration.updateKey(organizationId, keyId, change, BY);
    if (kind !== 'updated') throw new Error(`${name} of a key: ${kind}`);
  };
  return {
    name,
    refused,
    refuse: (customer) => update(customer, refuse),
    restore: async (customer) => {
      await update(customer, restore);
      return customer;
    },
  };
}
