import { describe, expect, it } from 'vitest';
import type { AuditEventView } from '#contract/people.ts';
import { AUDIT_FIELDS } from '#contract/shown-settings.ts';
import { ACTIONS, actionChoice, actionLabel, changeLines, isOfOrganization } from './audit-labels.ts';

const EVENT: AuditEventView = {
  id: 'evt-1',
  atMs: 1,
  actor: 'a@example.com',
  action: 'key.revoked',
  subjectId: 'key-1',
  subjectName: 'Backend',
  changes: {},
};
const lines = (event: Partial<AuditEventView>) => changeLines({ ...EVENT, ...event });

describe('the label of an action', () => {
  it('is in plain words', () => {
    expect(actionLabel(EVENT)).toEqual({ before: 'Revoked the key ', name: 'Backend', after: '' });
    expect(actionLabel({ ...EVENT, action: 'user.added' })).toEqual({
      before: 'Added ',
      name: 'Backend',
      after: ' as a member',
    });
    expect(actionLabel({ ...EVENT, action: 'user.signed_in' })).toEqual({ before: 'Signed in', after: '' });
  });

  it('is the name of the action if a later version knows more', () => {
    expect(actionLabel({ ...EVENT, action: 'key.sung' })).toEqual({ before: 'key.sung: ', name: 'Backend', after: '' });
  });

  it('contains the exact amount of a credit', () => {
    const credited = (before: string, after: string) =>
      actionLabel({ ...EVENT, action: 'organization.credited', changes: { balanceNanoUsd: [before, after] } }).before;
    expect(credited('12500000000', '112500000001')).toBe('Added $100.000000001 to ');
    expect(credited('0', '-5000000000')).toBe('Took $5.00 back from ');
  });
});

describe('the changes of an event', () => {
  it('show values before and after, in an order that does not depend on the log', () => {
    const changes = { dailyBudgetNanoUsd: [null, '5000000000'], scopes: [['chat'], ['chat', 'usage:read']] } as const;
    expect(lines({ action: 'key.updated', changes })).toEqual([
      {
        field: 'scopes',
        label: 'Scopes',
        before: { kind: 'text', text: 'chat' },
        after: { kind: 'text', text: 'chat, usage:read' },
      },
      {
        field: 'dailyBudgetNanoUsd',
        label: 'Daily budget',
        before: { kind: 'none', text: 'unlimited' },
        after: { kind: 'text', text: '$5.00' },
      },
    ]);
  });

  it('show the former note of a key, if there was one', () => {
    const lineOf = (note: readonly [string | null, string | null]) =>
      lines({ action: 'key.updated', changes: { note } })[0];
    const text = (value: string) => ({ kind: 'text', text: value });
    const line = { field: 'note', label: 'Note' };
    expect(lineOf([null, 'a'])).toEqual({ ...line, after: text('a') });
    expect(lineOf(['a', 'b'])).toEqual({ ...line, before: text('a'), after: text('b') });
    expect(lineOf(['a', null])).toEqual({ ...line, before: text('a'), after: { kind: 'none', text: 'none' } });
  });

  it('show what was added to and removed from a list, and how much is left out', () => {
    const text = (value: string) => ({ kind: 'text', text: value });
    const change = { added: ['::1', '10.0.0.0/8'], removed: ['192.0.2.1'] };
    const shown = (ipRanges: AuditEventView['changes'][string]) => {
      const [line] = lines({ action: 'key.updated', changes: { ipRanges } });
      return [line?.before, line?.after];
    };
    expect(shown(change)).toEqual([undefined, text('added ::1, 10.0.0.0/8; removed 192.0.2.1')]);
    expect(shown({ ...change, addedLeftOut: 1_200 })).toEqual([
      undefined,
      text('added ::1, 10.0.0.0/8 and 1,200 more; removed 192.0.2.1'),
    ]);
    const unrestricted = { kind: 'none', text: 'any' };
    expect(shown({ added: [], removed: ['::1'], removedLeftOut: 3, after: null })).toEqual([
      text('::1 and 3 more'),
      unrestricted,
    ]);
    expect(shown({ added: [], addedLeftOut: 3, removed: [], before: null })).toEqual([
      unrestricted,
      text('3 that are not listed'),
    ]);
    expect(lines({ action: 'key.created', changes: { models: { ...change, removed: [], before: null } } })).toEqual([
      { field: 'models', label: 'Models', after: text('::1, 10.0.0.0/8') },
    ]);
  });

  it('show a view in the words of its page', () => {
    const shown = (before: string | null, after: string) => {
      const [line] = lines({ action: 'view.updated', changes: { search: [before, after] } });
      return [line?.before, line?.after].map((value) => value && 'text' in value && value.text);
    };
    expect(
      shown('?by=code&outcome=failed&range=24h', '?model=small&model=large&cost=2000000&by=metadata.team'),
    ).toEqual(['Last 24 hours; By error code; Failed', 'By metadata team; Model: small, large; Cost from $0.002']);
    expect(shown('', '?show=p95&compare=yes&user=&sort=cost&order=asc')).toEqual([
      'none',
      'First token, p95; Compared; End user: None; Sorted by Spend; Ascending',
    ]);
    expect(shown(null, '?fromMs=1767225600000&toMs=1767312000000')[1]).toMatch(/2026/);
  });

  it('show a key by its name, and its id in the hint', () => {
    const id = 'key-01KD0000000000000000000000';
    const changes = { search: [null, `?key=${id}&outcome=failed`] } as const;
    expect(lines({ changes, keyNames: { [id]: 'Backend' } })[0]?.after).toEqual({
      kind: 'text',
      text: 'Key: Backend; Failed',
      hint: `Key: ${id}; Failed`,
    });
    expect(lines({ changes })[0]?.after).toEqual({ kind: 'text', text: `Key: ${id}; Failed` });
  });

  it('show of a new object only what it has', () => {
    const changes = {
      name: [null, 'Acme'],
      allowMultipleCompletions: [null, false],
      concurrency: [null, 6400],
    } as const;
    expect(lines({ action: 'organization.created', changes })).toEqual([
      { field: 'concurrency', label: 'Concurrency', after: { kind: 'text', text: '6,400' } },
    ]);
  });

  it('show any JSON', () => {
    const odd = { toString: 1 };
    const values = [null, 1e300, 'a', odd, [odd, null], { added: odd }, { added: [odd], removed: [] }, [[odd], odd]];
    for (const field of ['search', 'revokedAtMs', 'balanceNanoUsd', 'mood']) {
      for (const value of values) {
        const [line] = lines({ changes: JSON.parse(JSON.stringify({ [field]: value })) });
        expect(line?.after).toMatchObject({ text: expect.any(String) });
      }
    }
    const changes = JSON.parse('{"balanceNanoUsd":["a","b"]}');
    expect(actionLabel({ ...EVENT, action: 'organization.credited', changes }).before).toBe('Added $0.00 to ');
    expect(lines({ changes: { search: [null, odd] } })[0]?.after).toEqual({ kind: 'text', text: '{"toString":1}' });
  });

  it('show instants as such, and unknown fields by their name', () => {
    const changes = { mood: ['bad', true], revokedAtMs: [null, 42] } as const;
    expect(lines({ changes })).toEqual([
      {
        field: 'revokedAtMs',
        label: 'Revoked',
        before: { kind: 'none', text: 'no' },
        after: { kind: 'instant', atMs: 42 },
      },
      { field: 'mood', label: 'mood', before: { kind: 'text', text: 'bad' }, after: { kind: 'text', text: 'yes' } },
    ]);
  });

  it('have a label for every logged field', () => {
    const labels = Object.values(AUDIT_FIELDS).map(({ label }) => label);
    expect(labels.filter((label) => !/^[A-Z]/.test(label) || /[a-z][A-Z]/.test(label))).toEqual([]);
    const changes = { balanceBelowNanoUsd: [null, '100000000000'] } as const;
    expect(lines({ action: 'alerts.updated', changes })).toEqual([
      {
        field: 'balanceBelowNanoUsd',
        label: 'Balance below',
        before: { kind: 'none', text: 'no alert' },
        after: { kind: 'text', text: '$100.00' },
      },
    ]);
  });

  it('do not repeat what the action says', () => {
    expect(lines({ action: 'organization.suspended', changes: { suspendedAtMs: [null, 1] } })).toEqual([]);
  });
});

describe('actionChoice', () => {
  it('is offered to owners if their log can have it', () => {
    const offered = ACTIONS.filter(isOfOrganization);
    for (const action of ['key.revoked', 'user.invited', 'view.created', 'alerts.updated', 'organization.credited']) {
      expect(offered).toContain(action);
    }
    for (const action of [
      'charge.retried',
      'ledger.epoch_renewed',
      'user.signed_in',
      'user.identity_bound',
      'user.disabled',
    ]) {
      expect(offered).not.toContain(action);
    }
  });

  it('names every action without a subject', () => {
    const labels = Object.fromEntries(ACTIONS.map((action) => [action, actionChoice(action).label]));
    expect(labels).toMatchObject({
      'key.revoked': 'Revoked a key',
      'organization.credited': 'Added credit',
      'organization.suspended': 'Suspended an organization',
      'user.role_changed': 'Changed the role of somebody',
    });
    expect(Object.values(labels).filter((label) => label.includes('{}'))).toEqual([]);
  });
});
