import type { DeliveryView } from '#contract/alerts.ts';

export const STATES = {
  waiting: { tone: 'warn', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
  dropped: { tone: 'neutral', word: 'Not sent' },
} as const satisfies Record<DeliveryView['state'], object>;

const TITLES: Readonly<Record<string, string>> = {
  test: 'Test',
  'balance.low': 'Low balance',
  'key.budget': 'Budget of a key',
  'key.expires': 'A key expires',
  'top_up.failed': 'Failed top-up',
  invitation: 'Invitation',
  account: 'Link to a new account',
  reset: 'Link to a new password',
  'provider.out_of_funds': 'Provider out of funds',
  'ledger.losses': 'Losses',
  'ledger.dead_letters': 'Dead letters',
  'models.check': 'Models differ from the catalogue',
  'models.unknown_tier': 'Service tier without a price',
  'spool.waiting': 'Charges in a spool',
};

/** A kind of a newer release is shown as it is. */
export function deliveryTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}
