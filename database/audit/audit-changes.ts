import type { AuditField } from '#contract/shown-settings.ts';
import type { AuditChange, AuditChanges, AuditValue } from './audit.ts';

/** Fields of a subject in the audit log. Lists, such as scopes, are compared as sets. */
export type AuditFields = { readonly [Field in AuditField]?: AuditValue | bigint | undefined };
/** Makes a field without a label an error of the compiler, even in a value that is no literal. */
type Labelled<Fields> = AuditFields & { readonly [Field in Exclude<keyof Fields, AuditField>]: never };

/** Returns the changed fields, in the order of `after`. */
export function changesBetween<Before, After>(
  before: Before & Labelled<Before>,
  after: After & Labelled<After>,
): AuditChanges {
  const old = new Map(Object.entries(before));
  const current = new Map(Object.entries(after));
  const changes: [string, AuditChange][] = [];
  for (const name of new Set([...current.keys(), ...old.keys()])) {
    const was = auditValue(old.get(name));
    const is = auditValue(current.get(name));
    if (!isSame(was, is)) changes.push([name, isList(was) && isList(is) ? difference(was, is) : [was, is]]);
  }
  return Object.fromEntries(changes);
}

export function isEmpty(changes: AuditChanges): boolean {
  return Object.keys(changes).length === 0;
}

function auditValue(value: AuditFields[AuditField]): AuditValue {
  if (value === undefined) return null;
  return typeof value === 'bigint' ? value.toString() : value;
}

function isSame(one: AuditValue, other: AuditValue): boolean {
  if (!isList(one) || !isList(other)) return one === other;
  const { added, removed } = difference(one, other);
  return added.length === 0 && removed.length === 0;
}

function difference(was: readonly string[], is: readonly string[]) {
  const [old, current] = [new Set(was), new Set(is)];
  return {
    added: [...current].filter((member) => !old.has(member)),
    removed: [...old].filter((member) => !current.has(member)),
  };
}

export function isList(value: AuditValue): value is readonly string[] {
  return Array.isArray(value);
}
