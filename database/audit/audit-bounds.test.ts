import fc from 'fast-check';
import { expect, it } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import type { AuditChanges, AuditEvent } from './audit.ts';
import { boundedEvent, MAX_CHANGES_BYTES } from './audit-bounds.ts';
import { changesBetween } from './audit-changes.ts';

const EVENT: AuditEvent = { action: 'key.updated', subjectName: 'Backend', changes: {} };
const bounded = (changes: AuditChanges) => boundedEvent({ ...EVENT, changes }).changes;
const bytes = (changes: AuditChanges) => Buffer.byteLength(JSON.stringify(changes));

const LIST = fc.option(
  fc.uniqueArray(fc.string({ maxLength: 500, unit: 'grapheme', size: 'max' }), { maxLength: 60, size: 'max' }),
  {
    nil: undefined,
  },
);
const FIELDS = fc.record({
  name: fc.string({ maxLength: 300, unit: 'binary', size: 'max' }),
  models: LIST,
  ipRanges: LIST,
});

it('bounds the size of an event, and counts what is left out', () => {
  fc.assert(
    fc.property(FIELDS, FIELDS, (before, after) => {
      const whole = changesBetween(before, after);
      const cut = bounded(whole);
      expect(bytes(cut)).toBeLessThanOrEqual(MAX_CHANGES_BYTES);
      for (const field of ['models', 'ipRanges'] as const) {
        const [is, was] = [cut[field], whole[field]];
        if (is === undefined || was === undefined || !('added' in is)) {
          expect(is).toEqual(was);
          continue;
        }
        const [added, removed] =
          'added' in was ? [was.added, was.removed] : ([was[1] ?? [], was[0] ?? []] as string[][]);
        expect(is.added.length + (is.addedLeftOut ?? 0)).toBe(added?.length);
        expect(is.removed.length + (is.removedLeftOut ?? 0)).toBe(removed?.length);
        expect(is.added).toEqual(added?.slice(0, is.added.length));
        expect([is.before, is.after]).toEqual(
          'added' in was
            ? [undefined, undefined]
            : [was[0] === null ? null : undefined, was[1] === null ? null : undefined],
        );
      }
    }),
    { numRuns: propertyRuns(40) },
  );
});

it('leaves small events unchanged', () => {
  const changes: AuditChanges = { name: ['a', 'b'], scopes: [null, ['chat']], models: { added: ['m'], removed: [] } };
  expect(bounded(changes)).toEqual(changes);
});

it('cuts texts between characters, and marks the cut', () => {
  const { subjectName, changes } = boundedEvent({
    ...EVENT,
    subjectName: '😀'.repeat(400),
    changes: { note: [null, 'x'.repeat(510)] },
  });
  expect(subjectName).toBe(`${'😀'.repeat(300)}… (100 characters left out)`);
  expect(changes).toEqual({ note: [null, `${'x'.repeat(500)}… (10 characters left out)`] });
});

it('bounds an event in which every text of an organization changes', () => {
  for (const [was, is] of [
    ['日', '本'],
    ['😀', '🙂'],
  ] as const) {
    const textsOf = (letter: string) => ({
      ...{ name: letter.repeat(200), legalName: letter.repeat(140), billingAddress: letter.repeat(300) },
      ...{ taxId: letter.repeat(50), billingEmail: `${letter === was ? 'a' : 'b'}@${'c'.repeat(250)}` },
    });
    const changes = bounded(changesBetween(textsOf(was), textsOf(is)));
    expect(bytes(changes)).toBeLessThanOrEqual(MAX_CHANGES_BYTES);
    expect(Object.keys(changes)).toHaveLength(5);
  }
});
