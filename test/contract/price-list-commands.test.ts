import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { createDatabase, sql } from '../harness/database.ts';

/** Commands for the price lists of organizations. */
const folder = mkdtempSync(join(tmpdir(), 'gw-price-lists-'));
const path = join(folder, 'gateway.yaml');
const env = { DATABASE_URL: await createDatabase(), GATEWAY_CONFIG: path, GATEWAY_DATA: folder };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Told {
  readonly id: string;
  readonly price_list: string | null;
  readonly warning?: string;
}

async function done(...args: string[]): Promise<Told> {
  const result = await runCommandLine(args, env);
  if (result.kind !== 'done') throw new Error(result.message);
  return result.json as Told;
}

function configure(...lists: string[]): void {
  const entries = lists.map((list) => `${list}: {"*": {percent: -10}}`);
  writeFileSync(path, `providers: {}\nmodels: {}\nprice_lists: {${entries.join(', ')}}\n`);
}

async function doctor(about = 'price lists'): Promise<string[]> {
  const result = await runCommandLine(['doctor'], env);
  const { findings } = (result as unknown as { json: { findings: readonly Finding[] } }).json;
  return findings.filter(({ check }) => check === about).map(({ verdict, found }) => `${verdict}: ${found}`);
}

test('an organization is created with a list, changed to another, and to none', async () => {
  configure('partner', 'wholesale');
  const created = await done('org', 'create', '--name', 'A', '--price-list', 'partner');
  expect(created).toMatchObject({ price_list: 'partner' });
  expect(created).not.toHaveProperty('warning');
  const { id } = created;
  expect(await done('org', 'update', id, '--price-list', 'wholesale')).toMatchObject({ price_list: 'wholesale' });
  expect(await done('org', 'update', id, '--name', 'B')).toEqual({ ...created, name: 'B', price_list: 'wholesale' });
  expect(await done('org', 'show', id)).toMatchObject({ price_list: 'wholesale' });
  expect(await done('org', 'update', id, '--price-list=none')).toMatchObject({ price_list: null });
  expect(await done('org', 'update', id, '--price-list', 'partner')).toMatchObject({ price_list: 'partner' });
  expect(await done('org', 'update', id, '--price-list', 'none')).toMatchObject({ price_list: null });
  const audit = await sql(
    env.DATABASE_URL ?? '',
    `select changes from audit_log where subject_id = '${id}' order by id`,
  );
  const changes = audit.map(({ changes }) => (changes as { priceList?: unknown }).priceList);
  expect(changes.slice(0, 2)).toEqual([
    [null, 'partner'],
    ['partner', 'wholesale'],
  ]);
  expect(changes.at(-1)).toEqual(['partner', null]);
});

test('an unknown list is set with a warning; a malformed name is refused', async () => {
  configure('partner');
  const { id, warning } = await done('org', 'create', '--name', 'A', '--price-list', 'partnr');
  expect(warning).toContain('has no price list partnr');
  expect(await done('org', 'update', id, '--price-list', 'gone')).toHaveProperty('warning');
  for (const command of ['update', 'show', 'suspend', 'resume'])
    expect((await done('org', command, id)).warning).toContain('has no price list gone');
  const listed = await runCommandLine(['org', 'list'], env);
  expect(listed).toMatchObject({
    json: { organizations: expect.arrayContaining([expect.objectContaining({ id, warning: expect.any(String) })]) },
    text: expect.stringContaining('\nwarning: The configuration has no price list gone'),
  });
  for (const name of ['', '*', 'a b', '-x', 'x'.repeat(65)]) {
    expect(await runCommandLine(['org', 'update', id, `--price-list=${name}`], env)).toMatchObject({ kind: 'usage' });
  }
  expect(await done('org', 'update', id, '--price-list', 'none')).not.toHaveProperty('warning');
});

test('the doctor names the organizations with unknown lists', async () => {
  configure('partner');
  expect(await doctor()).toEqual(['ok: no price list is in use']);
  const ids: string[] = [];
  for (let i = 0; i < 7; i++) ids.push((await done('org', 'create', '--name', 'A', '--price-list', 'partner')).id);
  expect(await doctor()).toEqual(['ok: 1 price list in use, all configured']);
  configure('wholesale');
  const named = `${ids.toSorted().slice(0, 5).join(', ')} and 2 more`;
  expect(await doctor()).toEqual([
    `problem: ${named}: the price list partner is not in the configuration, so the models' own prices apply`,
  ]);
});

test('the doctor names the organizations whose usable keys are bound to an unknown model', async () => {
  configure();
  const { id } = await done('org', 'create', '--name', 'A');
  const key = (models: string) =>
    done('key', 'create', '--org', id, '--name', 'k', '--scopes', 'chat', '--models', models);
  await done('key', 'revoke', (await key('retired')).id);
  expect(await doctor('models of keys')).toEqual(['ok: all are configured']);
  const { id: bound } = await key('gone,lost');
  await key('gone');
  const named = (model: string) => `warning: keys of ${id} name the model ${model}, which is not in the configuration`;
  expect(await doctor('models of keys')).toEqual([named('gone'), named('lost')]);
  writeFileSync(
    path,
    `providers: {p: {base_url: 'http://127.0.0.1:9/v1', api_key: k}}
models: {gone: {context_window: 100, max_output_tokens: 10, usd_per_million_tokens: {input: 1, output: 1}, targets: [{provider: p, model: m}]}}`,
  );
  expect(await doctor('models of keys')).toEqual([named('lost')]);
  const several = Array.from({ length: 22 }, (_, at) => `m-${at}`);
  await done('key', 'update', bound, '--models', several.join());
  const found = await doctor('models of keys');
  expect(found).toHaveLength(21);
  expect(found.at(-1)).toBe('warning: keys name 2 more models, which are not in the configuration');
  await done('key', 'update', bound, '--models', 'none');
  expect(await doctor('models of keys')).toEqual(['ok: all are configured']);
});
