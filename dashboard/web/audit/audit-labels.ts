import { moment, readQuery } from '#contract/define-search.ts';
import { exploreSearch } from '#contract/explore-search.ts';
import type { AuditEventView, ListChangeView } from '#contract/people.ts';
import type { Setting } from '#contract/setting.ts';
import { AUDIT_FIELDS } from '#contract/shown-settings.ts';
import { stateWords } from '../explore/state-words.ts';
import { formatCount, formatMoneyInFull } from '../format/format.ts';

/** `{}` is replaced by the name of the subject. */
const WORDS: Readonly<Record<string, string>> = {
  'organization.created': 'Created the organization {}',
  'organization.updated': 'Changed the organization {}',
  'organization.suspended': 'Suspended the organization {}',
  'organization.resumed': 'Resumed the organization {}',
  'organization.automatic_top_up': 'Changed automatic top-up of the organization {}',
  'charge.retried': 'Charged the refused generation {}',
  'charge.forgiven': 'Forgave the refused generation {}',
  'ledger.epoch_renewed': 'Renewed the ledger epoch',
  'key.created': 'Created the key {}',
  'key.updated': 'Changed the key {}',
  'key.revoked': 'Revoked the key {}',
  'key.replaced': 'Replaced the key {}',
  'key.handed_over': 'Handed the key {} over',
  'user.created': 'Created the user {}',
  'user.added': 'Added {} as a member',
  'user.role_changed': 'Changed the role of {}',
  'user.removed': 'Removed {} from the members',
  'user.disabled': 'Disabled the user {}',
  'user.enabled': 'Enabled the user {}',
  'user.invited': 'Made an invitation link for {}',
  'user.reset': 'Made a link to reset the password of {}',
  'user.reset_asked': 'Requested a mail to reset the password of {}',
  'user.password_set': 'Set the password of {}',
  'user.signed_in': 'Signed in',
  'user.sign_in_failed': 'Failed to sign in as {}',
  'user.signed_out': 'Signed out',
  'alerts.updated': 'Changed the alerts of the organization {}',
  'alerts.secret_replaced': 'Replaced the webhook secret of the organization {}',
  'view.created': 'Saved the view {}',
  'view.updated': 'Changed the view {}',
  'view.deleted': 'Deleted the view {}',
  'user.identity_bound': 'Bound {} to a user of the issuer',
  'user.identity_removed': 'Unbound {} from the issuer',
  'user.operator_changed': 'Changed whether {} is an operator',
  'user.sign_in_link': 'Made a link to sign in as {}',
};

export const ACTIONS: readonly string[] = [...Object.keys(WORDS), 'organization.credited'].sort();

/** False for actions about a user or the gateway, which are in no organization's log. */
export function isOfOrganization(action: string): boolean {
  return !/^charge\.|^ledger\.|^user\.(?!created|added|invited|role_changed|removed)/.test(action);
}

/** A choice of the action filter, such as `Revoked a key`. */
export function actionChoice(action: string): { readonly value: string; readonly label: string } {
  const label = action === 'organization.credited' ? 'Added credit' : (WORDS[action] ?? action);
  const general = label
    .replace('the organization {}', 'an organization')
    .replace('the refused generation {}', 'a refused charge')
    .replace(/the (key|user|view) \{\}/, 'a $1');
  return { value: action, label: general.replace('{}', 'somebody') };
}

/** The text of an event, with the subject's name in the middle if it has one. */
export function actionLabel({ action, subjectName, subjectId, changes }: AuditEventView) {
  const template = action === 'organization.credited' ? creditLabel(changes) : (WORDS[action] ?? `${action}: {}`);
  const [before = '', after] = template.split('{}');
  return after === undefined ? { before, after: '' } : { before, name: subjectName ?? subjectId ?? '?', after };
}

function creditLabel({ balanceNanoUsd }: AuditEventView['changes']): string {
  const [before, after] = Array.isArray(balanceNanoUsd) ? balanceNanoUsd : [];
  const amount = isWhole(before) && isWhole(after) ? BigInt(after) - BigInt(before) : 0n;
  const shown = formatMoneyInFull((amount < 0n ? -amount : amount).toString());
  return amount < 0n ? `Took ${shown} back from {}` : `Added ${shown} to {}`;
}

function isWhole(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d+$/.test(value);
}

/** A logged value, or a moment, shown in the reader's time zone. `hint`: ids of the names. */
export type ChangedValue =
  | { readonly kind: 'text'; readonly text: string; readonly hint?: string }
  | { readonly kind: 'instant'; readonly atMs: number }
  | { readonly kind: 'none'; readonly text: string };

const FIELDS: Readonly<Record<string, Pick<Setting, 'label' | 'none'>>> = AUDIT_FIELDS;

/** Fields that are already implied by the action. */
const SAID: ReadonlySet<string> = new Set(['suspendedAtMs', 'disabledAtMs']);
/** For these fields an absent former value is not shown. */
const SAID_ALONE: ReadonlySet<string> = new Set(['note', 'reference', 'failuresWithinMinute']);
const ORDER = Object.keys(FIELDS);

/** `before` is absent for a new object, or if `after` lists additions and removals. */
export function changeLines({ action, changes, keyNames = {} }: AuditEventView) {
  const isNew = action.endsWith('.created');
  return Object.entries(changes)
    .filter(([field, change]) => !SAID.has(field) && !(isNew && (isNothing(change) || field === 'name')))
    .sort(([a], [b]) => place(a) - place(b))
    .map(([field, change]) => {
      const { label, none = 'none' } = FIELDS[field] ?? { label: field };
      const [before, after] = shownChange(field, change, none, (id) => keyNames[id] ?? id);
      const isSaidAlone = isNew || (SAID_ALONE.has(field) && before?.kind === 'none');
      return { field, label, after, ...(before === undefined || isSaidAlone ? {} : { before }) };
    });
}

type Change = AuditEventView['changes'][string];

function isNothing(change: Change): boolean {
  return Array.isArray(change) && (change[1] === null || change[1] === false);
}

type NameOf = (value: string) => string;
type Shown = readonly [before: ChangedValue | undefined, after: ChangedValue];

/** A change of a form that this version does not know is shown as it was logged. */
function shownChange(field: string, change: Change, none: string, nameOf: NameOf): Shown {
  const shown = (value: unknown) => changedValue(field, value, none, nameOf);
  if (Array.isArray(change)) return [shown(change[0]), shown(change[1])];
  if (isListChange(change)) return shownLists(change, none);
  return [undefined, changedValue('', change, none, nameOf)];
}

function isListChange(change: unknown): change is ListChangeView {
  const { added, removed } = (change ?? {}) as Partial<Record<keyof ListChangeView, unknown>>;
  return Array.isArray(added) && Array.isArray(removed);
}

function shownLists(
  { added, removed, addedLeftOut, removedLeftOut, before, after }: ListChangeView,
  none: string,
): Shown {
  const [came, went] = [listLabel(added, addedLeftOut), listLabel(removed, removedLeftOut)];
  if (before === null)
    return [
      { kind: 'none', text: none },
      { kind: 'text', text: came },
    ];
  if (after === null)
    return [
      { kind: 'text', text: went },
      { kind: 'none', text: none },
    ];
  const words = [...(came === '' ? [] : [`added ${came}`]), ...(went === '' ? [] : [`removed ${went}`])];
  return [undefined, { kind: 'text', text: words.join('; ') }];
}

function listLabel(members: readonly string[], leftOut = 0): string {
  const shown = members.map(textOf).join(', ');
  if (leftOut === 0) return shown;
  return shown === '' ? `${formatCount(leftOut)} that are not listed` : `${shown} and ${formatCount(leftOut)} more`;
}

function place(field: string): number {
  const index = ORDER.indexOf(field);
  return index < 0 ? ORDER.length : index;
}

function changedValue(field: string, value: unknown, none: string, nameOf: NameOf): ChangedValue {
  if (value === null || value === undefined) return { kind: 'none', text: none };
  if (typeof value === 'number' && field.endsWith('AtMs') && moment(value) !== undefined)
    return { kind: 'instant', atMs: value };
  if (typeof value === 'number') return { kind: 'text', text: value.toLocaleString('en-US') };
  if (typeof value === 'boolean') return { kind: 'text', text: value ? 'yes' : 'no' };
  if (Array.isArray(value)) return { kind: 'text', text: value.map(textOf).join(', ') };
  if (field === 'search' && typeof value === 'string') {
    const state = exploreSearch(readQuery(value));
    const [words, hint] = [stateWords(state, nameOf), stateWords(state)];
    return words === '' ? { kind: 'none', text: none } : { kind: 'text', text: words, ...(words !== hint && { hint }) };
  }
  return { kind: 'text', text: field.endsWith('NanoUsd') && isWhole(value) ? formatMoneyInFull(value) : textOf(value) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
