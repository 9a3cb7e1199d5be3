import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { createDatabase, createEmptyDatabase, sql } from '../harness/database.ts';
import { COMPILE_CACHE } from '../harness/deployment.ts';
import { type Json, operatorCommands } from './operator-commands.ts';

const NO_RIGHTS = `no_rights_${process.pid}`;

const url = await createDatabase();

describe('the operator command line', () => {
  const { done, refusal } = operatorCommands(() => url);
  const newOrganization = async (...flags: string[]) =>
    String((await done('org', 'create', '--name', 'Acme', ...flags)).id);

  it('creates an organization with the defaults, or with the flags', async () => {
    const id = expect.stringMatching(/^org-[0-9A-Z]{26}$/);
    const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const defaults = { rpm: null, tpm: null, concurrency: 64, daily_budget: null, max_tokens: null, price_list: null };
    expect(await done('org', 'create', '--name', ' Acme ')).toEqual({
      ...{ id, name: 'Acme', suspended: false, balance: 0, created_at },
      ...{ ...defaults, allow_n: false },
    });
    const flags =
      '--rpm 60 --tpm 5000 --concurrency 3 --daily-budget 1.5 --max-tokens 100 --allow-n --credit 0.000000001';
    expect(await done('org', 'create', '--name', 'B', ...flags.split(' '))).toEqual({
      ...{ id, name: 'B', suspended: false, balance: 1e-9, created_at },
      ...{ rpm: 60, tpm: 5000, concurrency: 3, daily_budget: 1.5, max_tokens: 100, price_list: null, allow_n: true },
    });
  });

  it('updates only the given settings; none clears', async () => {
    const id = await newOrganization(
      '--rpm',
      '60',
      '--tpm',
      '9',
      '--daily-budget',
      '2',
      '--max-tokens',
      '7',
      '--allow-n',
    );
    const before = await done('org', 'show', id);
    expect(await done('org', 'update', id)).toEqual(before);
    expect(await done('org', 'update', id, '--rpm', '5', '--name', 'New')).toEqual({ ...before, rpm: 5, name: 'New' });
    const cleared = '--rpm none --tpm none --concurrency none --daily-budget none --max-tokens none --allow-n none';
    expect(await done('org', 'update', id, '--concurrency', '9')).toMatchObject({ concurrency: 9 });
    expect(await done('org', 'update', id, ...cleared.split(' '))).toEqual({
      ...{ ...before, name: 'New' },
      ...{ rpm: null, tpm: null, concurrency: 64, daily_budget: null, max_tokens: null, allow_n: false },
    });
  });

  it('credits exactly, corrects, and applies a reference once', async () => {
    const id = await newOrganization();
    expect(await done('org', 'credit', id, '10.000000001', '--reference', 'r-1', '--note', 'Invoice')).toEqual({
      balance: 10.000000001,
      reference: 'r-1',
      applied: true,
    });
    expect(await done('org', 'credit', id, '10.000000001', '--reference', 'r-1')).toEqual({
      balance: 10.000000001,
      reference: 'r-1',
      applied: false,
    });
    expect(await refusal('refused', 'org', 'credit', id, '11', '--reference', 'r-1')).toContain('for 10.000000001 USD');
    expect(await done('org', 'credit', id, '-12')).toMatchObject({ balance: -1.999999999 });
    const entries = await sql(
      url,
      `select amount_nano_usd, note, reference, actor from ledger_entries where organization_id = '${id}' order by sequence`,
    );
    expect(entries).toEqual([
      {
        amount_nano_usd: '10000000001',
        note: 'Invoice',
        reference: 'r-1',
        actor: expect.stringMatching(/^.+@.+$/),
      },
      {
        amount_nano_usd: '-12000000000',
        note: null,
        reference: expect.stringMatching(/^crd-[0-9A-Z]{26}$/),
        actor: expect.stringMatching(/^.+@.+$/),
      },
    ]);
    expect(await done('ledger', 'verify')).toMatchObject({ ok: true, differences: [] });
  });

  it('suspends and resumes from the next read on', async () => {
    const id = await newOrganization();
    expect(await done('org', 'suspend', id)).toMatchObject({ suspended: true });
    expect(await done('org', 'resume', id)).toMatchObject({ suspended: false });
    const { organizations } = (await done('org', 'list')) as { organizations: Json[] };
    expect(organizations.at(-1)).toMatchObject({ id, suspended: false });
  });

  it('creates a key without the restrictions that are none', async () => {
    const key = ['key', 'create', '--org', await newOrganization(), '--name', 'k', '--scopes', 'chat'];
    const none = ['--models', 'none', '--ips', 'none', '--expires', 'none', '--note', 'none', '--rpm', 'none'];
    expect(await done(...key, ...none)).toMatchObject({ models: null, ips: null, expires_at: null, note: null });
  });

  it('refuses well-formed but impossible commands with status 1', async () => {
    const org = await newOrganization('--rpm', '10', '--daily-budget', '2');
    const key = ['key', 'create', '--org', org, '--name', 'k', '--scopes', 'chat'];
    expect(await refusal('refused', ...key, '--rpm', '11')).toBe("--rpm is above the organization's limit of 10.");
    expect(await refusal('refused', ...key, '--daily-budget', '2.1')).toContain('limit of 2 USD');
    const nobody = `org-${'0'.repeat(26)}`;
    for (const args of [
      ['org', 'show', nobody],
      ['org', 'update', nobody, '--rpm', '1'],
      ['org', 'suspend', nobody],
      ['org', 'credit', nobody, '1'],
      ['key', 'list', '--org', nobody],
    ]) {
      expect(await refusal('refused', ...args)).toBe(`There is no organization ${nobody}.`);
    }
    expect(await refusal('refused', 'key', 'revoke', `key-${'0'.repeat(26)}`)).toContain('There is no key');
    expect(await refusal('refused', 'org', 'show', 'acme')).toContain('There is no organization "acme"');
  });

  it.each([
    [[], 'Usage:'],
    [['org', 'create', '--name', 'x', '--rpm', '0', '--credit', '-1'], '--rpm takes a whole number'],
    [['org', 'create', '--name', 'x', '--reference', 'r'], '--reference needs --credit'],
    [['org', 'create', '--name', 'x', '--reference', 'r', '--credit', '0.0'], '--reference needs --credit'],
    [['org', 'create', '--name', 'x', 'y'], '"y" is one argument too many.'],
    [['org', 'credit', `org-${'0'.repeat(26)}`, '1e5'], 'USD takes an amount'],
  ])('refuses %j with the accepted form', async (args, text) => {
    expect(await refusal('usage', ...args)).toContain(text);
  });

  it('reports a difference in the ledger as text and as JSON', async () => {
    const broken = await createDatabase();
    const env = { DATABASE_URL: broken };
    await runCommandLine(['org', 'create', '--name', 'x', '--credit', '5'], env);
    await sql(broken, 'update accounts set balance_nano_usd = 1, total_credits_nano_usd = 1');
    const result = await runCommandLine(['ledger', 'verify'], env);
    expect(result).toMatchObject({ kind: 'refused', json: { ok: false } });
    expect(result.kind === 'refused' && result.message).toContain('the balance is the sum of the entries');
  });

  it('migrates an empty database, reports an unreachable one, and never shows a password', async () => {
    const empty = await createEmptyDatabase();
    expect(await runCommandLine(['org', 'list'], { DATABASE_URL: empty })).toMatchObject({
      json: { organizations: [] },
    });
    const away = await runCommandLine(['org', 'list'], { DATABASE_URL: 'postgres://gw:hunter2@127.0.0.1:1/x' });
    expect(away).toMatchObject({ kind: 'refused', message: expect.stringContaining('not reachable at 127.0.0.1:1') });
    expect(JSON.stringify(away)).not.toContain('hunter2');
    expect(await refusalAt(empty.replace('?', '_none?'))).toMatch(
      /refuses the command: database "\w+_none" does not exist\.$/,
    );
    expect(await refusalAt(`${empty}&options=-c%20default_transaction_read_only%3Don`)).toMatch(
      /refuses the command: the server is a standby/,
    );
    await sql(empty, `create role ${NO_RIGHTS} login`);
    const withoutRights = await refusalAt(empty.replace('//gateway@', `//${NO_RIGHTS}@`));
    expect(withoutRights).toMatch(/^The database user may not do this .* gateway_operator/);
    await sql(empty, `drop role ${NO_RIGHTS}`);
    await sql(
      empty,
      "insert into schema_migrations (version, name, checksum, serves_from) values (99, 'later', '', 98)",
    );
    expect(await runCommandLine(['org', 'list'], { DATABASE_URL: empty })).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('newer than this release'),
    });
  });

  async function refusalAt(databaseUrl: string): Promise<string> {
    return operatorCommands(() => databaseUrl).refusal('refused', 'org', 'list');
  }

  describe('as a process', () => {
    let folder = '';
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gw operator '));
    });
    afterAll(() => rm(folder, { recursive: true }));
    const main = resolve(import.meta.dirname, '../../operator/main.ts');
    function gateway(env: Record<string, string>, ...args: string[]) {
      const { stdout, stderr, status } = spawnSync(process.execPath, [main, ...args], {
        env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, GATEWAY_DATA: folder, ...env },
        encoding: 'utf8',
        timeout: PATIENCE_MS,
      });
      return { stdout, stderr, status };
    }

    it('prints one JSON object, and ends with 0, 1 or 2', async () => {
      const created = gateway({ DATABASE_URL: url }, 'org', 'create', '--name', 'x', '--json');
      expect([created.status, created.stderr, JSON.parse(created.stdout).name]).toEqual([0, '', 'x']);
      const refused = gateway({ DATABASE_URL: url }, 'org', 'show', `org-${'0'.repeat(26)}`, '--json');
      expect([refused.status, refused.stderr]).toEqual([1, '']);
      expect(JSON.parse(refused.stdout)).toEqual({ error: expect.stringContaining('There is no organization') });
      const wrong = gateway({ DATABASE_URL: url }, 'org', 'show');
      expect([wrong.status, wrong.stdout]).toEqual([2, '']);
      expect(wrong.stderr).toContain('ID is missing.');
    });

    it('prints a report to standard output, whatever it found, and why it cannot report to standard error', () => {
      const report = gateway({ DATABASE_URL: 'postgres://127.0.0.1:1/d', GATEWAY_CONFIG: '/none' }, 'doctor');
      expect([report.status, report.stderr]).toEqual([1, '']);
      expect(report.stdout).toMatch(/^problem +database +not reachable/m);
      const refused = gateway({ DATABASE_URL: url }, 'org', 'show', `org-${'0'.repeat(26)}`);
      expect([refused.status, refused.stdout]).toEqual([1, '']);
    });

    it('checks a configuration, and finds the embedded database by the data folder', async () => {
      const file = join(folder, 'bad.yaml');
      await writeFile(file, 'listen: {}\nnonsense: 1\n');
      const checked = gateway({}, 'check-config', file, '--json');
      expect(checked.status).toBe(1);
      expect(JSON.parse(checked.stdout)).toMatchObject({
        ok: false,
        problems: expect.arrayContaining([expect.objectContaining({ file, line: 2, column: 1 })]),
      });
      const away = gateway({ GATEWAY_CONFIG: join(folder, 'none.yaml') }, 'org', 'list');
      expect([away.status, away.stdout]).toEqual([1, '']);
      expect(away.stderr).toContain(`the embedded server of ${folder} (there is no ${join(folder, 'none.yaml')})`);
    });
  });
});
