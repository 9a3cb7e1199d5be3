import { ALERT_SETTINGS } from './alerts.ts';
import { KEY_SETTINGS } from './keys.ts';
import { ORGANIZATION_SETTINGS, OWN_SETTINGS } from './organization.ts';
import type { Setting } from './setting.ts';

/**
 * Every field that the audit log may have, with its label and the word for no value, in the order
 * of display. An event with another field does not compile.
 */
export const AUDIT_FIELDS = {
  email: { label: 'Email' },
  isOperator: { label: 'Operator', none: 'no' },
  role: { label: 'Role' },
  balanceNanoUsd: { label: 'Balance', none: '$0' },
  ...KEY_SETTINGS,
  ...ORGANIZATION_SETTINGS,
  ...OWN_SETTINGS,
  suspendedAtMs: { label: 'Suspended', none: 'no' },
  disabledAtMs: { label: 'Disabled', none: 'no' },
  revokedAtMs: { label: 'Revoked', none: 'no' },
  belongsTo: { label: 'Belongs to', none: 'the organization' },
  replacedBy: { label: 'Replaced by', none: 'nothing' },
  replaces: { label: 'Replaces', none: 'nothing' },
  reference: { label: 'Reference' },
  ...ALERT_SETTINGS,
  /** The origin of its URL alone: the path may be a secret. */
  webhook: { label: 'Webhook', none: 'none' },
  card: { label: 'Card', none: 'none' },
  belowNanoUsd: { label: 'Automatic top-up below', none: 'off' },
  amountNanoUsd: { label: 'Amount', none: 'none' },
  dailyNanoUsd: { label: 'Daily cap of top-ups', none: 'none' },
  stoppedAtMs: { label: 'Automatic top-up stopped', none: 'no' },
  issuer: { label: 'Issuer', none: 'none' },
  subject: { label: 'User of the issuer', none: 'none' },
  failuresWithinMinute: { label: 'Failures within the minute' },
} as const satisfies Readonly<Record<string, Pick<Setting, 'label' | 'none'>>>;

export type AuditField = keyof typeof AUDIT_FIELDS;
