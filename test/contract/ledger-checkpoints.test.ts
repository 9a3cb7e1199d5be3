import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkpointKeyPath } from '#database/checkpoints/checkpoint-key.ts';
import { isSigned, rawPublicKey } from '#database/checkpoints/checkpoints.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { addCustomer, settlementOf, sql } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

const HOUR_MS = 3_600_000;
const { privateKey } = generateKeyPairSync('ed25519');

let folder = '';
const db = withStore({ creditNanoUsd: 1_000n, each: true });
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-checkpoints-'));
  await charge(1n, 2n, 3n);
});
afterEach(() => rm(folder, { recursive: true }));

async function charge(...costs: bigint[]): Promise<void> {
  for (const costNanoUsd of costs) await db.store.ledger.charge(settlementOf(db.customer, { costNanoUsd }));
}
const write = (everyMs = HOUR_MS) => db.store.writeCheckpoints({ privateKey, everyMs });
const run = (...args: string[]) => runCommandLine(args, { DATABASE_URL: db.url, GATEWAY_DATA: folder });
async function rulesBroken(...flags: string[]): Promise<string[]> {
  const result = await run('ledger', 'verify', ...flags);
  if (result.kind === 'usage') throw new Error(result.message);
  const { differences } = result.json as { differences: { rule: string }[] };
  return [...new Set(differences.map(({ rule }) => rule))];
}
/** Changes rows as somebody with the database's password could. */
const tamper = (statements: string) => sql(db.url, `set session_replication_role = replica; ${statements}`);
const LOSE_TAIL = `
  delete from generations where cost_nano_usd > 1;
  delete from ledger_entries where sequence > 2;
  update accounts set sequence = 2, balance_nano_usd = 999, total_usage_nano_usd = 1;
  delete from daily_usage; delete from organization_daily_spend; delete from key_daily_spend;
  insert into daily_usage select organization_id, day, key_id, model, 1, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens,
    cache_write_tokens, cache_write_1h_tokens, 1 from generations;
  insert into organization_daily_spend select organization_id, day, 1 from generations;
  insert into key_daily_spend select key_id, day, 1 from generations`;

describe('checkpoints', () => {
  it('have the signed state of each organization, at most hourly, and only if something was booked', async () => {
    const idle = await addCustomer(db.store, 0n);
    expect(await write()).toBe(1);
    await charge(4n);
    expect(await write()).toBe(0);
    expect(await write(0)).toBe(1);
    expect(await write(0)).toBe(0);
    const all = await db.store.administration.checkpoints(0);
    expect(all.map(({ organizationId }) => organizationId)).not.toContain(idle.organizationId);
    expect(all).toMatchObject([
      { sequence: 4, previousSequence: 0, balanceNanoUsd: 994n, totalCreditsNanoUsd: 1_000n },
      { sequence: 5, previousSequence: 4, balanceNanoUsd: 990n, totalCreditsNanoUsd: 1_000n },
    ]);
    for (const checkpoint of all) {
      expect(isSigned(checkpoint)).toBe(true);
      expect(isSigned({ ...checkpoint, balanceNanoUsd: 995n })).toBe(false);
      expect(checkpoint.publicKey).toEqual(rawPublicKey(privateKey));
    }
    expect(await rulesBroken()).toEqual([]);
  });

  it('have the time of PostgreSQL, and one of the future keeps no later one from being written', async () => {
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 365 * 24 * HOUR_MS);
    expect(await write()).toBe(1);
    vi.restoreAllMocks();
    const [checkpoint] = await db.store.administration.checkpoints(0);
    expect(Math.abs((checkpoint?.createdAtMs ?? 0) - Date.now())).toBeLessThan(HOUR_MS);
    await tamper(`update ledger_checkpoints set created_at = created_at + interval '1 year'`);
    await charge(4n);
    expect(await write()).toBe(1);
  });

  it('are written once by several processes', async () => {
    await Promise.all([write(), write(), write()]);
    expect(await db.store.administration.checkpoints(0)).toHaveLength(1);
  });

  it('are split for many entries, and verified in pieces', async () => {
    await tamper(`
      insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, actor)
        select '${db.customer.organizationId}', 4 + n, 'credit', 2, 994 + 2 * n, 'test' from generate_series(1, 45000) n;
      update accounts set sequence = 45004, balance_nano_usd = 90994, total_credits_nano_usd = 91000`);
    expect(await write()).toBe(5);
    await db.store.administration.credit(db.customer.organizationId, { amountNanoUsd: 1n }, { actor: 'test' });
    expect(await run('ledger', 'verify')).toMatchObject({ kind: 'done', json: { ok: true, entries: 45_005 } });
    await tamper(`update ledger_entries set note = 'x' where sequence = 30000`);
    expect(await rulesBroken()).toEqual(['entries are those that their checkpoint has seen']);
  });

  it('reveal a past entry that was changed consistently', async () => {
    await write();
    await tamper(`update ledger_entries set note = 'promised' where kind = 'credit'`);
    expect(await rulesBroken()).toEqual(['entries are those that their checkpoint has seen']);
  });

  it('are needed to reveal a consistent loss of the newest entries', async () => {
    await tamper(LOSE_TAIL);
    expect(await rulesBroken()).toEqual([]);
  });

  it('reveal such a loss if there is a checkpoint after it', async () => {
    await write();
    await tamper(LOSE_TAIL);
    expect(await rulesBroken()).toEqual(['the ledger reaches every checkpoint']);
  });

  it('reveal such a loss by exported copies if the checkpoints were lost too', async () => {
    const file = join(folder, 'exported.jsonl');
    await write();
    const printed = await run('ledger', 'checkpoints');
    if (printed.kind !== 'done') throw new Error(printed.message);
    await writeFile(file, `\n${printed.text}\r\n\n${printed.text}\n`);
    expect(await rulesBroken('--since', file)).toEqual([]);
    await tamper(`${LOSE_TAIL}; delete from ledger_checkpoints`);
    expect(await rulesBroken()).toEqual([]);
    expect(await rulesBroken('--since', file)).toEqual(
      expect.arrayContaining(['the ledger reaches every checkpoint', 'checkpoints are kept as they were exported']),
    );
  });

  it('reveal by an older exported copy that the past was changed before the newest one', async () => {
    const file = join(folder, 'exported.jsonl');
    const exported = async () => {
      await write(0);
      const printed = await run('ledger', 'checkpoints');
      return printed.kind === 'done' ? printed.text : '';
    };
    const before = await exported();
    await tamper(`update ledger_entries set note = 'promised' where kind = 'credit'; delete from ledger_checkpoints`);
    await charge(4n);
    await writeFile(file, `${before}\n${await exported()}\n`);
    expect(await rulesBroken()).toEqual([]);
    expect(await rulesBroken('--since', file)).toEqual(['checkpoints are kept as they were exported']);
  });

  it('are the start of a later verification', async () => {
    await write();
    await charge(4n);
    const later = new Date(Date.now() + 60_000).toISOString();
    expect(await run('ledger', 'verify', '--since', later)).toMatchObject({ json: { ok: true, entries: 1 } });
    const earlier = new Date(Date.now() - HOUR_MS).toISOString();
    expect(await run('ledger', 'verify', '--since', earlier)).toMatchObject({ json: { ok: true, entries: 5 } });
    await tamper('update ledger_entries set balance_nano_usd = 1 where sequence = 5');
    expect(await rulesBroken('--since', later)).toEqual(['every entry carries the balance after it']);
  });

  it('are valid only with a signature of a known key', async () => {
    await write();
    const [mine, other] = [join(folder, 'mine.pem'), join(folder, 'other.pem')];
    await writeFile(mine, privateKey.export({ format: 'pem', type: 'pkcs8' }));
    await writeFile(other, generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }));
    expect(await rulesBroken('--key', mine)).toEqual([]);
    expect(await rulesBroken('--key', other)).toEqual(['every checkpoint is signed']);
    await tamper(`update ledger_checkpoints set created_at = created_at - interval '1 day'`);
    expect(await rulesBroken('--key', mine)).toEqual(['every checkpoint is signed']);
  });

  it('are no start of a later verification without such a signature', async () => {
    await write();
    const [other, file] = [join(folder, 'other.pem'), join(folder, 'checkpoints.jsonl')];
    await writeFile(other, generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }));
    const printed = await run('ledger', 'checkpoints');
    await writeFile(file, printed.kind === 'done' ? printed.text : '');
    const later = new Date(Date.now() + 60_000).toISOString();
    for (const since of [file, later]) {
      expect(await rulesBroken('--since', since)).toEqual([]);
      expect(await rulesBroken('--since', since, '--key', other)).toEqual(['every checkpoint is signed']);
    }
  });

  it('need such a signature in an exported file, also if they are not the newest', async () => {
    await write();
    await charge(4n);
    await write(0);
    const printed = await run('ledger', 'checkpoints', '--json');
    const [older, newest] = (printed.kind === 'done' ? printed.json : []) as { sequence: number; signature: string }[];
    const [file, keys] = [join(folder, 'exported.json'), join(folder, 'keys.pem')];
    await writeFile(keys, privateKey.export({ format: 'pem', type: 'pkcs8' }));
    const broken = async (...checkpoints: unknown[]) => {
      await writeFile(file, JSON.stringify(checkpoints));
      return rulesBroken('--since', file, '--key', keys);
    };
    expect(await broken(older, newest)).toEqual([]);
    const forged = { ...older, signature: newest?.signature };
    expect(await broken(forged, newest)).toEqual(['every checkpoint is signed']);
    expect(await broken({ ...older, created_at: new Date().toISOString() }, newest)).toEqual([
      'every checkpoint is signed',
    ]);
  });

  it('of several data folders are verified with a file of the keys of all', async () => {
    const [keys, other] = [join(folder, 'keys.pem'), join(folder, 'other')];
    await run('ledger', 'checkpoints', '--write');
    await charge(4n);
    const elsewhere = (...args: string[]) => runCommandLine(args, { DATABASE_URL: db.url, GATEWAY_DATA: other });
    await elsewhere('ledger', 'checkpoints', '--write');
    const [first, second] = [await run('ledger', 'checkpoint-key'), await elsewhere('ledger', 'checkpoint-key')];
    if (first.kind !== 'done' || second.kind !== 'done') throw new Error('a key cannot be shown');
    await writeFile(keys, `${first.text}\n`);
    expect(await rulesBroken('--key', keys)).toEqual(['every checkpoint is signed']);
    await writeFile(keys, `${first.text}\n${second.text}\n`);
    expect(await rulesBroken('--key', keys)).toEqual([]);
    await writeFile(keys, 'no key\n');
    expect(await run('ledger', 'verify', '--key', keys)).toMatchObject({ kind: 'refused' });
  });

  it.each(['update ledger_checkpoints set sequence = 9', 'delete from ledger_checkpoints'])(
    'are append-only: %s',
    async (statement) => {
      await write();
      await expect(sql(db.url, statement)).rejects.toThrow('ledger_checkpoints is append-only');
    },
  );
});

describe('the command line', () => {
  it.each([
    ['damaged key', 'no key'],
    ['key of another algorithm', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ])('refuses a %s with the name of its file', async (_, key) => {
    await run('ledger', 'checkpoint-key');
    const text = typeof key === 'string' ? key : key.export({ format: 'pem', type: 'pkcs8' });
    await writeFile(checkpointKeyPath({ chargeLogDir: join(folder, 'spool') }), text);
    for (const words of ['checkpoint-key', 'checkpoints --write']) {
      expect(await run('ledger', ...words.split(' '))).toMatchObject({
        kind: 'refused',
        message: expect.stringMatching(/checkpoint-key\.pem cannot be used: /),
      });
    }
  });

  it('writes checkpoints with a key in the data folder that only the user can read', async () => {
    const [first, second] = [await run('ledger', 'checkpoint-key'), await run('ledger', 'checkpoint-key')];
    expect(first).toEqual(second);
    const { file, public_key } = (first.kind === 'done' ? first.json : {}) as { file: string; public_key: string };
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).toContain('BEGIN PRIVATE KEY');
    const written = await run(
      'ledger',
      'checkpoints',
      '--write',
      '--since',
      new Date(Date.now() - 60_000).toISOString(),
    );
    expect(written).toMatchObject({
      json: [{ organization_id: db.customer.organizationId, sequence: 4, balance_nano_usd: '994', public_key }],
    });
  });

  it('refuses a --since that is neither a time nor a file of checkpoints', async () => {
    const file = join(folder, 'nonsense');
    await writeFile(file, '{"organization_id":"org-1"}\n');
    for (const since of [file, join(folder, 'absent')])
      expect(await run('ledger', 'verify', '--since', since)).toMatchObject({ kind: 'refused' });
  });
});
