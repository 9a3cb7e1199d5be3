import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import type { AuditValue } from '#database/audit/audit.ts';
import type { KeyChange } from '#database/keys/key-records.ts';
import type { OrganizationChange } from '#database/organizations/organization-records.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { addKey, BY, sql } from '../harness/database.ts';
import { ADA, type AuditedDatabase, type Event, openAudited } from './audited-database.ts';

describe('the audit log', () => {
  let database: AuditedDatabase;
  beforeAll(async () => {
    database = await openAudited();
  });
  afterAll(() => database.close());

  it('has every change of an organization with actor, address, old and new values', async () => {
    const { administration, events } = database;
    const id = newId('org', Date.now());
    const settings = { allowMultipleCompletions: false, concurrency: 8, dailyBudgetNanoUsd: 5n };
    const opening = { amountNanoUsd: 7n, note: 'Opening credit' };
    await administration.createOrganization({ id, name: 'Acme', ...settings }, ADA, opening);
    await administration.updateOrganization(id, { name: 'Acme Inc', dailyBudgetNanoUsd: null, maxTokens: 9 }, ADA);
    const suspended = await administration.setSuspended(id, true, ADA);
    await administration.setSuspended(id, false, ADA);
    await administration.credit(id, { amountNanoUsd: -2n, reference: 'r-1' }, ADA);
    const by = { actor: ADA.actor, actor_user_id: ADA.userId, address: ADA.address };
    const subject = { organization_id: id, subject_id: id };
    expect(await events(id)).toEqual([
      {
        ...{ ...by, ...subject, action: 'organization.created', subject_name: 'Acme' },
        changes: {
          name: [null, 'Acme'],
          allowMultipleCompletions: [null, false],
          concurrency: [null, 8],
          dailyBudgetNanoUsd: [null, '5'],
        },
      },
      {
        ...{ ...by, ...subject, action: 'organization.credited', subject_name: 'Acme' },
        changes: { balanceNanoUsd: ['0', '7'], note: [null, 'Opening credit'] },
      },
      {
        ...{ ...by, ...subject, action: 'organization.updated', subject_name: 'Acme Inc' },
        changes: { name: ['Acme', 'Acme Inc'], dailyBudgetNanoUsd: ['5', null], maxTokens: [null, 9] },
      },
      {
        ...{ ...by, ...subject, action: 'organization.suspended', subject_name: 'Acme Inc' },
        changes: { suspendedAtMs: [null, suspended?.suspendedAtMs] },
      },
      {
        ...{ ...by, ...subject, action: 'organization.resumed', subject_name: 'Acme Inc' },
        changes: { suspendedAtMs: [suspended?.suspendedAtMs, null] },
      },
      {
        ...{ ...by, ...subject, action: 'organization.credited', subject_name: 'Acme Inc' },
        changes: { balanceNanoUsd: ['7', '5'], reference: [null, 'r-1'] },
      },
    ]);
    const entries = await sql(database.url, `select actor from ledger_entries where organization_id = '${id}'`);
    expect(entries).toEqual([{ actor: ADA.actor }, { actor: ADA.actor }]);
  });

  it('has no row if nothing changed', async () => {
    const { administration, events, addOrganization } = database;
    const id = await addOrganization();
    const { keyId } = await addKey(database, id);
    await administration.setSuspended(id, true, BY);
    await administration.credit(id, { amountNanoUsd: 5n, reference: 'once' }, BY);
    await administration.revokeKey(keyId, BY);
    const before = await events(id);
    expect(before).toHaveLength(5);
    await administration.setSuspended(id, true, BY);
    await administration.updateOrganization(id, {}, BY);
    await administration.updateOrganization(id, { name: 'Acme', concurrency: 64, maxTokens: null }, BY);
    await administration.credit(id, { amountNanoUsd: 5n, reference: 'once' }, BY);
    expect(await administration.credit(id, { amountNanoUsd: 2n ** 63n - 1n }, BY)).toEqual({ kind: 'out_of_range' });
    await administration.revokeKey(keyId, BY);
    await administration.revokeKey(keyId, BY, await addOrganization());
    await administration.updateOrganization(`org-${'0'.repeat(26)}`, { name: 'x' }, BY);
    expect(await events(id)).toEqual(before);
  });

  it('and the change are committed or rolled back together', async () => {
    const { administration, events, addOrganization, url } = database;
    const id = await addOrganization();
    await sql(url, "alter table audit_log add constraint no_saboteur check (actor <> 'saboteur')");
    const by = { actor: 'saboteur' };
    await expect(administration.updateOrganization(id, { name: 'Renamed' }, by)).rejects.toThrow('no_saboteur');
    await expect(administration.setSuspended(id, true, by)).rejects.toThrow('no_saboteur');
    await expect(administration.credit(id, { amountNanoUsd: 5n }, by)).rejects.toThrow('no_saboteur');
    expect(await administration.organization(id)).toMatchObject({ name: 'Acme', balanceNanoUsd: 0n });
    expect((await administration.organization(id))?.suspendedAtMs).toBeUndefined();
    expect(await events(id)).toHaveLength(1);
  });

  it('is append-only, and contains no secret', async () => {
    const { url, addOrganization } = database;
    const { hash } = await addKey(database, await addOrganization());
    for (const statement of ["update audit_log set actor = 'x'", 'delete from audit_log', 'truncate audit_log']) {
      await expect(sql(url, statement)).rejects.toThrow('audit_log is append-only');
    }
    const [row] = await sql<{ dump: string }>(url, "select string_agg(audit_log::text, '') as dump from audit_log");
    expect(row?.dump).not.toContain(hash.toString('hex'));
  });

  it('has only the difference of two long lists, cut to a bound, with the number of omitted elements', async () => {
    const { administration, events, addOrganization, url } = database;
    const id = await addOrganization();
    const { keyId } = await addKey(database, id);
    const ranges = (group: number) => Array.from({ length: 199 }, (_, n) => `2001:db8:${group}::${n.toString(16)}/128`);
    await administration.updateKey(id, keyId, { ipRanges: ranges(1) }, BY);
    await administration.updateKey(id, keyId, { ipRanges: [...ranges(1), '10.0.0.0/8'] }, BY);
    await administration.updateKey(id, keyId, { ipRanges: ranges(2) }, BY);
    await administration.updateKey(id, keyId, { ipRanges: null }, BY);
    const [, from, one, all, none] = (await events(keyId)).map(({ changes }) => changes.ipRanges);
    expect(one).toEqual({ added: ['10.0.0.0/8'], removed: [] });
    expect(from).toMatchObject({ before: null, removed: [] });
    expect(none).toMatchObject({ after: null, added: [] });
    for (const change of [from, all, none]) {
      if (change === undefined || !('added' in change)) throw new Error('a list that was cut tells of members');
      const { added, removed, addedLeftOut = 0, removedLeftOut = 0 } = change;
      expect([0, 199, 200]).toContain(added.length + addedLeftOut);
      expect([0, 199, 200]).toContain(removed.length + removedLeftOut);
      expect(Math.max(addedLeftOut, removedLeftOut)).toBeGreaterThan(100);
    }
    const [{ largest } = { largest: 0 }] = await sql<{ largest: number }>(
      url,
      `select max(octet_length(changes::text))::integer as largest from audit_log where subject_id = '${keyId}'`,
    );
    expect(largest).toBeLessThanOrEqual(2_048);
  });

  it('cuts long names of actors', async () => {
    const { administration, events, addOrganization } = database;
    const id = await addOrganization();
    await administration.credit(id, { amountNanoUsd: 1n }, { actor: 'é'.repeat(1_000) });
    expect((await events(id)).at(-1)?.actor).toBe('é'.repeat(300));
  });
});

/** The current state of a subject, computed only from the log. */
function replay(events: readonly Event[], subject: string): Record<string, AuditValue> {
  const state: Record<string, AuditValue> = {};
  for (const { subject_id: id, changes } of events) {
    if (id !== subject) continue;
    for (const [field, change] of Object.entries(changes)) {
      const former = state[field] ?? null;
      if ('added' in change) {
        const { added, removed } = change;
        expect(former, `${field} before`).toEqual(expect.arrayContaining([...removed]));
        const stayed = (former as readonly string[]).filter((member) => !removed.includes(member));
        state[field] = ordered([...stayed, ...added]);
      } else {
        expect(former, `${field} before`).toEqual(ordered(change[0]));
        state[field] = ordered(change[1]);
      }
    }
  }
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null));
}

/** Sorts lists, which are sets, so that a changed order is no change. */
function ordered<T>(value: T): T | string[] {
  return Array.isArray(value) ? value.toSorted() : value;
}

const LIMIT = fc.option(fc.integer({ min: 1, max: 3 }), { nil: null });
const BUDGET = fc.option(fc.bigInt({ min: 0n, max: 2n }), { nil: null });
const NAME = fc.constantFrom('a', 'b');
const LIST = (...members: string[]) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...members), { minLength: 1 }), { nil: null });
const LIMITS = { requestsPerMinute: LIMIT, tokensPerMinute: LIMIT, dailyBudgetNanoUsd: BUDGET };
/** Settings of a key that are no lists. Amounts are texts in the audit log. */
const SINGLE = ['name', 'expiresAtMs', ...Object.keys(LIMITS), 'monthlyBudgetNanoUsd', 'lifetimeBudgetNanoUsd'];
const ORGANIZATION_CHANGE: fc.Arbitrary<OrganizationChange> = fc.record(
  { name: NAME, allowMultipleCompletions: fc.boolean(), concurrency: fc.integer({ min: 1, max: 2 }), maxTokens: LIMIT },
  { requiredKeys: [] },
);
const KEY_CHANGE: fc.Arbitrary<KeyChange> = fc.record(
  {
    name: NAME,
    scopes: fc.uniqueArray(fc.constantFrom('chat' as const, 'usage:read' as const), { minLength: 1 }),
    models: LIST('m-1', 'm-2'),
    ipRanges: LIST('10.0.0.0/8', '::1'),
    expiresAtMs: fc.option(fc.constantFrom(1_900_000_000_123, 1_900_000_000_124), { nil: null }),
    ...LIMITS,
    monthlyBudgetNanoUsd: BUDGET,
    lifetimeBudgetNanoUsd: BUDGET,
  },
  { requiredKeys: [] },
);

describe('replaying the audit log', () => {
  it('results in the current settings of organization and key', async () => {
    const database = await openAudited();
    const { administration } = database;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(fc.tuple(fc.constant('org'), ORGANIZATION_CHANGE), fc.tuple(fc.constant('key'), KEY_CHANGE)),
          {
            maxLength: 8,
          },
        ),
        async (moves) => {
          const organizationId = await database.addOrganization();
          const id = newId('key', Date.now());
          const hash = randomBytes(32);
          const settings = { organizationId, name: 'a', scopes: ['chat' as const] };
          await administration.createKey({ ...settings, id, hash, last4: 'abcd' }, BY);
          for (const [what, change] of moves) {
            if (what === 'org')
              await administration.updateOrganization(organizationId, change as OrganizationChange, BY);
            else await administration.updateKey(organizationId, id, change as KeyChange, BY);
          }
          const log = await database.events(organizationId);
          const organization = await administration.organization(organizationId);
          const key = await administration.key(organizationId, id);
          if (!organization || !key) throw new Error('both are there');
          expect(replay(log, organizationId)).toEqual({
            name: organization.name,
            allowMultipleCompletions: organization.allowMultipleCompletions,
            concurrency: organization.concurrency,
            ...(organization.maxTokens === undefined ? {} : { maxTokens: organization.maxTokens }),
          });
          const { scopes, models, ipRanges } = key;
          const single = SINGLE.flatMap((name) => {
            const value = new Map<string, unknown>(Object.entries(key)).get(name);
            return value === undefined ? [] : [[name, typeof value === 'bigint' ? String(value) : value]];
          });
          expect(replay(log, id)).toEqual({
            ...{ scopes: ordered(scopes), ...Object.fromEntries(single) },
            ...(models ? { models: ordered(models) } : {}),
            ...(ipRanges ? { ipRanges: ordered(ipRanges) } : {}),
          });
          for (const { action, changes } of log) {
            if (action.endsWith('.updated')) expect(changes).not.toEqual({});
          }
        },
      ),
      { numRuns: propertyRuns(40) },
    );
    await database.close();
  });
});
