import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { KeyReplacement, KeySettings } from '#database/keys/key-records.ts';
import { countKeys } from '#database/keys/key-rows.ts';
import { organizationDetails } from '#database/keys/organization-details.ts';
import { BY, DAY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { ADA, openAudited } from './audited-database.ts';

const NOBODY = `key-${'0'.repeat(26)}`;

describe('changes of keys', () => {
  const database = opened(openAudited);

  async function addKey(settings: Partial<KeySettings> = {}) {
    const organizationId = settings.organizationId ?? (await database.addOrganization());
    await database.addMember(organizationId, ADA);
    const identity = newIdentity();
    const created = await database.administration.createKey(
      { organizationId, name: 'CI', scopes: ['chat'], ...settings, ...identity },
      ADA,
    );
    if (created.kind !== 'created') throw new Error(created.kind);
    return { ...identity, organizationId, key: created.key };
  }
  const newIdentity = (): Omit<KeyReplacement, 'expiresAtMs'> => ({
    id: newId('key', Date.now()),
    hash: randomBytes(32),
    last4: randomBytes(2).toString('hex'),
  });
  const isRevoked = async (hash: Buffer) => (await database.keys.findByHash(hash, DAY))?.key.revokedAtMs !== undefined;

  describe('editing', () => {
    it('changes the given fields from the next request on, and null clears', async () => {
      const { administration, keys } = database;
      const { id, hash, organizationId, key } = await addKey({ models: ['m-1'], tokensPerMinute: 5 });
      const change = {
        name: 'Production',
        note: 'Ask Bo',
        scopes: ['chat', 'usage:read'] as const,
        ipRanges: ['10.0.0.0/8'],
        expiresAtMs: 4_000_000_000_123,
        requestsPerMinute: 60,
        dailyBudgetNanoUsd: 1n,
        monthlyBudgetNanoUsd: 20n,
        lifetimeBudgetNanoUsd: 300n,
      };
      expect(await administration.updateKey(organizationId, id, change, BY)).toEqual({
        kind: 'updated',
        key: { ...key, ...change },
      });
      const found = await keys.findByHash(hash, DAY);
      expect(found?.key).toEqual({
        id,
        scopes: new Set(change.scopes),
        models: new Set(['m-1']),
        ipRanges: ['10.0.0.0/8'],
        expiresAtMs: change.expiresAtMs,
        limits: {
          ...{ requestsPerMinute: 60, tokensPerMinute: 5 },
          ...{ dailyBudgetNanoUsd: 1n, monthlyBudgetNanoUsd: 20n, lifetimeBudgetNanoUsd: 300n },
        },
      });
      const clear = {
        ...{ note: null, models: null, ipRanges: null, expiresAtMs: null },
        ...{ requestsPerMinute: null, tokensPerMinute: null, dailyBudgetNanoUsd: null },
        ...{ monthlyBudgetNanoUsd: null, lifetimeBudgetNanoUsd: null },
      };
      const { models: _, tokensPerMinute: __, ...rest } = key;
      const cleared = { ...rest, name: 'Production', scopes: change.scopes };
      expect(await administration.updateKey(organizationId, id, clear, BY)).toEqual({ kind: 'updated', key: cleared });
      expect(await administration.key(organizationId, id)).toEqual(cleared);
    });

    it('is refused above the limits of the organization, except for an unchanged limit', async () => {
      const { administration } = database;
      const { id, organizationId, key } = await addKey({ requestsPerMinute: 100 });
      await administration.updateOrganization(organizationId, { requestsPerMinute: 50, dailyBudgetNanoUsd: 9n }, BY);
      const update = (change: object) => administration.updateKey(organizationId, id, change, BY);
      const above = { kind: 'above_organization', limit: 'requestsPerMinute', organizationLimit: 50 };
      expect(await update({ name: 'New', requestsPerMinute: 51 })).toEqual(above);
      expect(await update({ dailyBudgetNanoUsd: 10n })).toMatchObject({ limit: 'dailyBudgetNanoUsd' });
      expect(await administration.key(organizationId, id)).toEqual(key);
      // A page sends unchanged fields back.
      expect(await update({ name: 'New', requestsPerMinute: 100 })).toMatchObject({ key: { name: 'New' } });
      expect(await update({ requestsPerMinute: 50, dailyBudgetNanoUsd: 9n })).toMatchObject({ kind: 'updated' });
      expect(await update({ requestsPerMinute: 100 })).toEqual(above);
    });

    it('finds no key of another organization, and changes none that is revoked', async () => {
      const { administration, addOrganization } = database;
      const { id, organizationId } = await addKey();
      const other = await addOrganization();
      const unknown = { kind: 'unknown_key' };
      expect(await administration.updateKey(other, id, { name: 'x' }, BY)).toEqual(unknown);
      expect(await administration.updateKey(organizationId, NOBODY, { name: 'x' }, BY)).toEqual(unknown);
      expect(await administration.key(other, id)).toBeUndefined();
      const key = await administration.revokeKey(id, BY);
      expect(await administration.updateKey(organizationId, id, { name: 'x' }, BY)).toEqual({ kind: 'revoked', key });
    });

    it('and lowering a limit of the organization are serialized', async () => {
      const { administration } = database;
      for (let round = 0; round < 10; round++) {
        const { id, organizationId } = await addKey();
        const [updated] = await Promise.all([
          administration.updateKey(organizationId, id, { requestsPerMinute: 80 }, BY),
          administration.updateOrganization(organizationId, { requestsPerMinute: 50 }, BY),
        ]);
        const order = (await database.events(organizationId)).map(({ action }) => action).slice(-2);
        // The key was changed first, or refused.
        if (updated.kind === 'updated') expect(order).toEqual(['key.updated', 'organization.updated']);
        else expect(updated).toMatchObject({ kind: 'above_organization', organizationLimit: 50 });
      }
    });
  });

  describe('revoking', () => {
    it('applies only in the named organization, and keeps the first time', async () => {
      const { administration, addOrganization } = database;
      const { id, hash, organizationId } = await addKey();
      expect(await administration.revokeKey(id, ADA, await addOrganization())).toBeUndefined();
      expect(await isRevoked(hash)).toBe(false);
      const first = await administration.revokeKey(id, ADA, organizationId);
      expect(first).toMatchObject({ revoked: true, createdBy: ADA.userId });
      expect(await isRevoked(hash)).toBe(true);
      expect(await administration.revokeKey(id, BY)).toEqual(first);
      expect(await administration.revokeKey(NOBODY, BY)).toBeUndefined();
      expect((await database.events(id)).map(({ action }) => action)).toEqual(['key.created', 'key.revoked']);
    });

    it('at once holds even if the clock of the database is set back', async () => {
      const { administration, url } = database;
      const { id, hash, organizationId } = await addKey();
      await administration.revokeKey(id, BY);
      const later = "now() + interval '1 hour'";
      await sql(url, `update keys set revoked_at = ${later}, revocation_decided_at = ${later} where id = '${id}'`);
      expect(await isRevoked(hash)).toBe(true);
      expect((await administration.keys(organizationId))?.[0]?.revoked).toBe(true);
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      onTestFinished(() => pool.end());
      expect(await countKeys(pool, organizationId)).toEqual({ usable: 0, madeWithinDay: 1 });
      const details = await organizationDetails(pool, [organizationId], utcDay(Date.now()));
      expect(details.get(organizationId)?.usableKeys).toBe(0);
    });
  });

  describe('replacing', () => {
    it('makes a key with the same settings and revokes the old one at once', async () => {
      const { administration, events } = database;
      const settings = { scopes: ['usage:read'] as const, models: ['m'], ipRanges: ['::1'], expiresAtMs: 4e12 };
      const old = await addKey({ ...settings, note: 'Kept', requestsPerMinute: 7, dailyBudgetNanoUsd: 8n });
      const replacement = newIdentity();
      const { email: actor, id: userId } = await database.addUser({ member: old.organizationId });
      const by = { actor, userId, address: '192.0.2.8' };
      const result = await administration.replaceKey(old.organizationId, old.id, replacement, by);
      if (result.kind !== 'replaced') throw new Error(result.kind);
      const { id, last4 } = replacement;
      const { createdAtMs } = result.key;
      expect(result.key).toEqual({ ...old.key, id, last4, createdAtMs, createdBy: by.userId });
      expect(result.old).toMatchObject({ id: old.id, revoked: true });
      expect([await isRevoked(old.hash), await isRevoked(replacement.hash)]).toEqual([true, false]);
      expect(await administration.keys(old.organizationId)).toEqual([result.old, result.key]);
      expect((await events(old.id)).at(-1)).toMatchObject({
        action: 'key.replaced',
        changes: { revokedAtMs: [null, result.old.revokedAtMs], replacedBy: [null, id] },
      });
      expect(await events(id)).toMatchObject([{ action: 'key.created', changes: { replaces: [null, old.id] } }]);
    });

    it('can revoke the old one later, by the clock of the database', async () => {
      const { administration, url } = database;
      const { id, hash, organizationId } = await addKey();
      const oldRevokedAtMs = Date.now() + 3_600_000;
      const result = await administration.replaceKey(organizationId, id, { ...newIdentity(), oldRevokedAtMs }, BY);
      expect(result).toMatchObject({ kind: 'replaced', old: { revoked: false, revokedAtMs: oldRevokedAtMs } });
      expect(await isRevoked(hash)).toBe(false);
      expect(await administration.updateKey(organizationId, id, { name: 'Leaving' }, BY)).toMatchObject({
        key: { name: 'Leaving', revoked: false, revokedAtMs: oldRevokedAtMs },
      });
      // Simulates the planned time.
      await sql(
        url,
        `update keys set revoked_at = now() - interval '1 ms', revocation_decided_at = now() - interval '1 hour' where id = '${id}'`,
      );
      expect(await isRevoked(hash)).toBe(true);
      expect(await administration.key(organizationId, id)).toMatchObject({ revoked: true });
      expect(await administration.updateKey(organizationId, id, { name: 'x' }, BY)).toMatchObject({ kind: 'revoked' });
    });

    it('with a past time revokes at once, and an immediate revocation overrides a planned one', async () => {
      const { administration, events } = database;
      const past = await addKey();
      await administration.replaceKey(past.organizationId, past.id, { ...newIdentity(), oldRevokedAtMs: 5 }, BY);
      const key = await administration.key(past.organizationId, past.id);
      expect(key?.revoked).toBe(true);
      expect(key?.revokedAtMs).toBeGreaterThan(Date.now() - 60_000);
      const planned = await addKey();
      const oldRevokedAtMs = Date.now() + 3_600_000;
      await administration.replaceKey(planned.organizationId, planned.id, { ...newIdentity(), oldRevokedAtMs }, BY);
      const revoked = await administration.revokeKey(planned.id, BY, planned.organizationId);
      expect(revoked?.revoked).toBe(true);
      expect(await isRevoked(planned.hash)).toBe(true);
      expect((await events(planned.id)).at(-1)).toMatchObject({
        action: 'key.revoked',
        changes: { revokedAtMs: [oldRevokedAtMs, revoked?.revokedAtMs] },
      });
    });

    it('takes effect once when two do it concurrently, also if the old key is revoked later', async () => {
      const { administration } = database;
      for (const later of [{}, { oldRevokedAtMs: Date.now() + 3_600_000 }]) {
        const { id, organizationId } = await addKey();
        const results = await Promise.all(
          Array.from({ length: 4 }, () =>
            administration.replaceKey(organizationId, id, { ...newIdentity(), ...later }, BY),
          ),
        );
        expect(results.map(({ kind }) => kind).sort()).toEqual(['replaced', 'revoked', 'revoked', 'revoked']);
        expect(await administration.keys(organizationId)).toHaveLength(2);
      }
    });

    it('and a concurrent edit never lose the edit', async () => {
      const { administration } = database;
      for (let round = 0; round < 10; round++) {
        const { id, organizationId } = await addKey();
        const [replaced, updated] = await Promise.all([
          administration.replaceKey(organizationId, id, newIdentity(), BY),
          administration.updateKey(organizationId, id, { scopes: ['usage:read'] }, BY),
        ]);
        if (replaced.kind !== 'replaced') throw new Error(replaced.kind);
        expect(replaced.key.scopes).toEqual(updated.kind === 'updated' ? ['usage:read'] : ['chat']);
      }
    });

    it('sets the given expiry on the new key, and the old one keeps its own', async () => {
      const { administration } = database;
      for (const expiresAtMs of [4_100_000_000_000, null]) {
        const { id, organizationId } = await addKey({ expiresAtMs: 4e12 });
        const result = await administration.replaceKey(organizationId, id, { ...newIdentity(), expiresAtMs }, BY);
        if (result.kind !== 'replaced') throw new Error(result.kind);
        expect([result.key.expiresAtMs ?? null, result.old.expiresAtMs]).toEqual([expiresAtMs, 4e12]);
      }
    });

    it('finds no key of another organization, and replaces none that is revoked or expired', async () => {
      const { administration, addOrganization } = database;
      const { id, organizationId } = await addKey();
      const replace = (organization: string, key: string) =>
        administration.replaceKey(organization, key, newIdentity(), BY);
      expect(await replace(await addOrganization(), id)).toEqual({ kind: 'unknown_key' });
      expect(await replace(organizationId, NOBODY)).toEqual({ kind: 'unknown_key' });
      const expired = await addKey({ expiresAtMs: 1_000 });
      expect(await replace(expired.organizationId, expired.id)).toEqual({ kind: 'expired', key: expired.key });
      const revoked = await administration.revokeKey(id, BY);
      expect(await replace(organizationId, id)).toEqual({ kind: 'revoked', key: revoked });
      expect(await administration.keys(organizationId)).toHaveLength(1);
    });

    it('keeps limits above those of the organization that were lowered since', async () => {
      const { administration } = database;
      const { id, organizationId } = await addKey({ requestsPerMinute: 100 });
      await administration.updateOrganization(organizationId, { requestsPerMinute: 50 }, BY);
      expect(await administration.replaceKey(organizationId, id, newIdentity(), BY)).toMatchObject({
        key: { requestsPerMinute: 100 },
      });
    });
  });
});
