import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { BY, DAY } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { ADA, openAudited } from './audited-database.ts';

const NOBODY = `key-${'0'.repeat(26)}`;

describe('revoking several keys', () => {
  const database = opened(openAudited);

  async function addKeys(organizationId: string, count: number) {
    const keys: { id: string; hash: Buffer }[] = [];
    await database.addMember(organizationId, ADA);
    for (let n = 0; n < count; n++) {
      const identity = { id: newId('key', Date.now()), hash: randomBytes(32), last4: 'abcd' };
      const settings = { organizationId, name: `Key ${n}`, scopes: ['chat'] as const };
      await database.administration.createKey({ ...settings, ...identity }, ADA);
      keys.push(identity);
    }
    return keys;
  }
  const actionsOf = async (id: string) => (await database.events(id)).map(({ action }) => action);
  const isRevoked = async (hash: Buffer) => (await database.keys.findByHash(hash, DAY))?.key.revokedAtMs !== undefined;

  it('takes effect on the next request for each, with an event for each that was not revoked before', async () => {
    const { administration } = database;
    const organizationId = await database.addOrganization();
    const keys = await addKeys(organizationId, 4);
    const ids = keys.map(({ id }) => id).toReversed();
    const [first] = keys;
    const early = await administration.revokeKey(first?.id ?? '', BY);
    const result = await administration.revokeKeys({ ids, organizationId }, BY);
    if (result.kind !== 'revoked') throw new Error(result.kind);
    expect(result.newlyRevoked).toBe(3);
    expect(result.keys.map(({ id, revoked }) => [id, revoked])).toEqual(ids.map((id) => [id, true]));
    expect(result.keys.at(-1)).toEqual(early);
    for (const { id, hash } of keys) {
      expect(await isRevoked(hash)).toBe(true);
      expect(await actionsOf(id)).toEqual(['key.created', 'key.revoked']);
    }
    const [, last] = await database.events(ids[0] ?? '');
    const revokedAtMs = result.keys[0]?.revokedAtMs;
    expect(last).toMatchObject({ subject_name: 'Key 3', changes: { revokedAtMs: [null, revokedAtMs] } });
    expect(await administration.revokeKeys({ ids }, BY)).toEqual({ ...result, newlyRevoked: 0 });
    expect(await actionsOf(ids[0] ?? '')).toHaveLength(2);
  });

  it('revokes none when one is unknown, of another organization or not allowed', async () => {
    const { administration } = database;
    const organizationId = await database.addOrganization();
    const [own, other] = [await addKeys(organizationId, 2), await addKeys(await database.addOrganization(), 1)];
    const ids = own.map(({ id }) => id);
    const [foreign = { id: '' }] = other;
    const revoke = (more: string[], allows = (_: { readonly id: string }) => true) =>
      administration.revokeKeys({ ids: [...ids, ...more], organizationId, allows }, BY);
    expect(await revoke([NOBODY])).toEqual({ kind: 'unknown_key', id: NOBODY });
    expect(await revoke([foreign.id])).toEqual({ kind: 'unknown_key', id: foreign.id });
    expect(await revoke([], ({ id }) => id !== ids[1])).toMatchObject({ kind: 'not_allowed', key: { id: ids[1] } });
    for (const { id, hash } of [...own, ...other]) {
      expect(await isRevoked(hash as Buffer)).toBe(false);
      expect(await actionsOf(id)).toEqual(['key.created']);
    }
  });

  it('revokes and logs each key once, also concurrently in any order', async () => {
    const organizationId = await database.addOrganization();
    const keys = await addKeys(organizationId, 20);
    const ids = keys.map(({ id }) => id);
    const orders = [ids, ids.toReversed(), ids.toSorted(() => 0.5 - Math.random()), ids.slice(5)];
    const results = await Promise.all(orders.map((order) => database.administration.revokeKeys({ ids: order }, BY)));
    const counts = results.map((result) => (result.kind === 'revoked' ? result.newlyRevoked : -1));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
    for (const id of ids) expect(await actionsOf(id)).toEqual(['key.created', 'key.revoked']);
  });
});
