import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditChange, AuditChanges } from './audit.ts';
import { type AuditFields, changesBetween, isEmpty } from './audit-changes.ts';

const VALUE = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.uniqueArray(fc.constantFrom('chat', 'usage:read', 'a', 'b', '10.0.0.0/8'), { maxLength: 4 }),
);
/**
 * Few names, so that both records have the same ones often; and those that objects have from birth.
 */
const RECORD: fc.Arbitrary<AuditFields> = fc.dictionary(
  fc.constantFrom('name', 'scopes', 'maxTokens', '__proto__', 'constructor'),
  VALUE,
);

/** Applies the changes to the former state, as a reader of the log would. */
function apply(before: AuditFields, changes: AuditChanges): AuditFields {
  return Object.fromEntries([
    ...Object.entries(before),
    ...Object.entries(changes).map(([name, change]) => {
      if (!('added' in change)) return [name, change[1]] as const;
      const former = new Map(Object.entries(before)).get(name) as readonly string[];
      return [name, [...former.filter((member) => !change.removed.includes(member)), ...change.added]] as const;
    }),
  ]);
}

/** The change of the same list, the other way round. */
function backwards(change: AuditChange): AuditChange {
  return 'added' in change ? { added: change.removed, removed: change.added } : [change[1], change[0]];
}

/** Absent and null are one, amounts are text, lists are sets. */
function meaning(record: AuditFields): Record<string, unknown> {
  const known = Object.entries(record).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    known
      .map(([name, value]) => {
        if (typeof value === 'bigint') return [name, String(value)] as const;
        return [name, Array.isArray(value) ? [...value].sort() : value] as const;
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

describe('changes between two records', () => {
  it('lead from one record to the other, and are empty for equivalent records', () => {
    fc.assert(
      fc.property(RECORD, RECORD, (before, after) => {
        const gone = Object.fromEntries(Object.keys(before).map((name) => [name, undefined]));
        const changes = changesBetween(before, after);
        expect(meaning(apply(before, changes))).toEqual(meaning({ ...gone, ...after }));
        expect(isEmpty(changes)).toBe(JSON.stringify(meaning(before)) === JSON.stringify(meaning(after)));
        for (const change of Object.values(changes)) expect(change).not.toEqual(backwards(change));
      }),
    );
  });

  it('are the same backwards, and survive JSON', () => {
    fc.assert(
      fc.property(RECORD, RECORD, (before, after) => {
        const changes = changesBetween(before, after);
        const back = changesBetween(after, before);
        expect(Object.keys(back).sort()).toEqual(Object.keys(changes).sort());
        for (const [name, change] of Object.entries(changes))
          expect(back[name as keyof typeof back]).toEqual(backwards(change));
        // -0 becomes 0 on the way, which is the same number.
        expect(JSON.stringify(JSON.parse(JSON.stringify(changes)))).toBe(JSON.stringify(changes));
      }),
    );
  });

  it('have amounts as text, absent values as null, and the difference of lists', () => {
    const before = { dailyBudgetNanoUsd: 5n, models: ['a', 'b'], name: 'x', scopes: ['chat'] };
    const after = {
      dailyBudgetNanoUsd: undefined,
      models: ['b', 'a'],
      name: 'x',
      scopes: ['chat', 'usage:read'],
      maxTokens: 3,
    };
    expect(changesBetween(before, after)).toEqual({
      dailyBudgetNanoUsd: ['5', null],
      scopes: { added: ['usage:read'], removed: [] },
      maxTokens: [null, 3],
    });
    // No list is no empty list.
    expect(changesBetween({ models: ['a'] }, {})).toEqual({ models: [['a'], null] });
  });

  it('have only fields that the audit log can name, even if the record is not a literal', () => {
    const mood = { mood: 'good' };
    // @ts-expect-error AUDIT_FIELDS has no such label.
    changesBetween({}, mood);
    // @ts-expect-error The same of one that has others as well.
    changesBetween({ ...mood, name: 'Acme' }, {});
  });
});
