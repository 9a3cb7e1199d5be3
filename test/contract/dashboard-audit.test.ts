import { describe, expect, it, vi } from 'vitest';
import type { AuditEventView } from '#contract/people.ts';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { type AuditQuery, auditPage } from '#database/audit/audit-pages.ts';
import { databaseFigures } from '#database/process-reports/database-figures.ts';
import { addCustomer, createDatabase, openStore, SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { readPages } from './read-pages.ts';

const url = await createDatabase();
const store = opened(() => openStore(url));
const database = opened(async () => openDatabase(url, SILENT));

describe('the audit log by pages', () => {
  const allPages = (query: Omit<AuditQuery, 'limit' | 'forCustomer'>, limit: number) =>
    readPages(limit, async (page: { before?: string; limit: number }) => {
      const { events, next } = await auditPage(database, { forCustomer: false, ...query, ...page });
      return [events, next];
    });

  it('shows each organization its own changes with actor and address, newest first', async () => {
    const [first, second] = [await addCustomer(store, 0n), await addCustomer(store, 0n)];
    const by = { actor: 'a@example.com', userId: 'usr-01ARZ3NDEKTSV4RRFFQ69G5FAV', address: '192.0.2.7' };
    const { organizationId } = first;
    await store.administration.updateOrganization(organizationId, { requestsPerMinute: 60, name: 'Renamed' }, by);
    await store.administration.revokeKey(first.keyId, by);
    const events = await allPages({ organizationId }, 2);
    const actions = ['key.revoked', 'organization.updated', 'key.created', 'organization.created'];
    // Events of the same millisecond have no order.
    expect(events.map(({ action }) => action).sort()).toEqual(actions.sort());
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(events.find(({ action }) => action === 'organization.updated')).toEqual({
      id: expect.stringMatching(/^evt-/),
      atMs: expect.any(Number),
      actor: 'a@example.com',
      address: '192.0.2.7',
      action: 'organization.updated',
      organizationId,
      organizationName: 'Renamed',
      subjectId: organizationId,
      subjectName: 'Renamed',
      changes: { name: ['test', 'Renamed'], requestsPerMinute: [null, 60] },
    });
    const all = await allPages({}, 3);
    expect(all.length).toBe(events.length + 2);
    expect(new Set(all.map((event) => event.organizationId))).toEqual(new Set([organizationId, second.organizationId]));
  });

  it('names the keys of the organization by which a view filters, and no others', async () => {
    const [own, other] = [await addCustomer(store, 0n), await addCustomer(store, 0n)];
    const { organizationId } = own;
    const search = `?key=${own.keyId}&key=${other.keyId}`;
    await sql(
      url,
      `insert into audit_log (id, organization_id, actor, action, subject_name, changes) values
         ('${newId('evt', Date.now())}', '${organizationId}', 'a', 'view.created', 'v', '{"search":[null,"${search}"]}')`,
    );
    const [event] = await allPages({ organizationId, action: 'view.created' }, 2);
    expect(event?.keyNames).toEqual({ [own.keyId]: 'test' });
  });

  it('hides the names of operators from customers, and shows all others', async () => {
    const { organizationId } = await addCustomer(store, 0n);
    const id = (kind: string, last: number) => `${kind}-${'0'.repeat(25)}${last}`;
    const [operator, owner, both] = [1, 2, 3].map((last) => id('usr', last));
    await sql(
      url,
      `insert into users (id, email, is_operator) values ('${operator}', 'op@example.com', true), ('${owner}', 'ada@example.com', false),
         ('${both}', 'both@example.com', true);
       insert into memberships values ('${owner}', '${organizationId}', 'owner'), ('${both}', '${organizationId}', 'owner');`,
    );
    const people = [
      { actor: 'op@example.com', userId: operator ?? '', address: '192.0.2.1' },
      { actor: 'ada@example.com', userId: owner ?? '', address: '192.0.2.2' },
      { actor: 'both@example.com', userId: both ?? '', address: '192.0.2.3' },
      { actor: 'root@machine' },
    ];
    for (const [i, by] of people.entries()) {
      await store.administration.updateOrganization(organizationId, { requestsPerMinute: i + 1 }, by);
    }
    const seen = async (forCustomer: boolean) => {
      const { events } = await auditPage(database, { organizationId, forCustomer, limit: 50 });
      const updates = events.filter(({ action }) => action === 'organization.updated');
      return updates.map(({ actor, address }) => `${actor} ${address ?? '-'}`).sort();
    };
    expect(await seen(true)).toEqual([
      'ada@example.com 192.0.2.2',
      'both@example.com 192.0.2.3',
      'the operator -',
      'the operator -',
    ]);
    expect(await seen(false)).toEqual([
      'ada@example.com 192.0.2.2',
      'both@example.com 192.0.2.3',
      'op@example.com 192.0.2.1',
      'root@machine -',
    ]);
    const foundBy = async (actor: string, forCustomer: boolean) => {
      const { events } = await auditPage(database, { organizationId, forCustomer, actor, limit: 50 });
      return events.filter(({ action }) => action === 'organization.updated').map((event) => event.actor);
    };
    expect(await foundBy('ADA@', true)).toEqual(['ada@example.com']);
    // A search must not reveal the address of an operator whose name the reader does not see.
    expect(await foundBy('op@example', true)).toEqual([]);
    expect(await foundBy('The Operator', true)).toEqual(['the operator', 'the operator']);
    expect(await foundBy('op@example', false)).toEqual(['op@example.com']);
    expect(await foundBy('%', false)).toEqual([]);
  });

  it('is filtered by action and time, page by page', async () => {
    const { organizationId, keyId } = await addCustomer(store, 0n);
    const by = { actor: 'a@example.com' };
    for (let rpm = 1; rpm <= 5; rpm++)
      await store.administration.updateOrganization(organizationId, { requestsPerMinute: rpm }, by);
    await store.administration.revokeKey(keyId, by);
    const all = await allPages({ organizationId }, 50);
    const updates = await allPages({ organizationId, action: 'organization.updated' }, 2);
    expect(updates).toHaveLength(5);
    expect(await allPages({ organizationId, action: 'key.revoked' }, 2)).toHaveLength(1);
    const middleMs = Math.ceil(updates[2]?.atMs ?? 0);
    const [later, earlier] = [
      await allPages({ organizationId, fromMs: middleMs }, 2),
      await allPages({ organizationId, toMs: middleMs }, 2),
    ];
    expect(later.every(({ atMs }) => atMs >= middleMs)).toBe(true);
    expect(earlier.every(({ atMs }) => atMs <= middleMs)).toBe(true);
    expect(later.length + earlier.length).toBe(all.length);
    expect(await allPages({ organizationId, toMs: 1 }, 2)).toEqual([]);
  });

  it('has the times of PostgreSQL, however wrong the clock of a process is or was', async () => {
    const { organizationId } = await addCustomer(store, 0n);
    const by = { actor: 'a@example.com' };
    const nowMs = Date.now();
    for (const days of [400, -400, 0]) {
      vi.spyOn(Date, 'now').mockReturnValue(nowMs + days * DAY_MS);
      await store.administration.updateOrganization(organizationId, { name: `${days} days ahead` }, by);
      vi.restoreAllMocks();
    }
    const events = await allPages({ organizationId, fromMs: nowMs - MINUTE_MS, toMs: nowMs + 2 * MINUTE_MS }, 9);
    const names = events.flatMap(({ action, subjectName }) => (action === 'organization.updated' ? [subjectName] : []));
    expect(names).toEqual(['0 days ahead', '-400 days ahead', '400 days ahead']);
  });

  it('reads a bounded number of events for a page, whatever the filter, and reports how far it searched', async () => {
    const { organizationId } = await addCustomer(store, 0n);
    const [rare, frequent] = [{ actor: 'rare@example.com' }, { actor: 'frequent@example.com' }];
    for (let rpm = 1; rpm <= 24; rpm++) {
      const by = rpm === 2 ? rare : frequent;
      await store.administration.updateOrganization(organizationId, { requestsPerMinute: rpm }, by);
    }
    const query = { organizationId, forCustomer: false, actor: 'rare', limit: 50 };
    const found: AuditEventView[] = [];
    const pages: (number | undefined)[] = [];
    let page = await auditPage(database, query, 10);
    for (;;) {
      found.push(...page.events);
      pages.push(page.searchedToMs);
      if (page.next === undefined) break;
      page = await auditPage(database, { ...query, before: page.next }, 10);
    }
    expect(found.map(({ actor }) => actor)).toEqual(['rare@example.com']);
    // 26 events in steps of ten. The last step reaches their end.
    expect(pages).toEqual([expect.any(Number), expect.any(Number), undefined]);
  });

  it('comes with figures of its database', async () => {
    await sql(
      url,
      `insert into dead_letters (generation_id, organization_id, reason, settlement, delivered) values ('gen-1', 'org-1', 'test', '{}', true)`,
    );
    const figures = await databaseFigures(database);
    expect(figures).toMatchObject({ deadLetters: 1, schemaVersion: expect.any(Number) });
    const [reserved] = await sql<{ most: number }>(
      url,
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most`,
    );
    expect(figures.maxConnections).toBe(reserved?.most);
    expect(figures.version).toMatch(/^\d+\.\d+/);
    expect(figures.sizeBytes).toBeGreaterThan(1_000_000);
    expect(figures.connections).toBeGreaterThan(1);
  });
});
