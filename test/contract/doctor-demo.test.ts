import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { createDatabase, sql } from '../harness/database.ts';

/** A demonstration that was left enabled in the configuration and in the database. */
const folder = mkdtempSync(join(tmpdir(), 'gw-doctor-'));
const configPath = join(folder, 'gateway.yaml');
let url = '';
beforeAll(async () => {
  url = await createDatabase();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function demoFindings(config: string): Promise<string[]> {
  writeFileSync(configPath, config);
  const env = { DATABASE_URL: url, GATEWAY_CONFIG: configPath, GATEWAY_DATA: folder };
  const result = await runCommandLine(['doctor'], env);
  const { findings } = (result as unknown as { json: { findings: readonly Finding[] } }).json;
  return findings.filter(({ check }) => check === 'demo').map(({ verdict, found }) => `${verdict}: ${found}`);
}

test('the doctor reports the demonstration until it is off', async () => {
  expect(await demoFindings('demo: true\n')).toEqual(['warning: `demo: true` is configured']);
  const run = (...args: string[]) => runCommandLine(args, { DATABASE_URL: url });
  for (const email of ['demo@example.com', 'own@example.com'])
    await run('user', 'create', '--email', email, '--operator');
  expect(await demoFindings('demo: true\n')).toEqual([
    'warning: `demo: true` is configured',
    'warning: demo@example.com can sign in',
  ]);
  await run('user', 'disable', 'demo@example.com');
  expect(await demoFindings('demo: false\n')).toEqual(['ok: no demo is left']);
  await sql(url, 'drop table users cascade');
  expect(await demoFindings('demo: false\n')).not.toContainEqual(expect.stringMatching(/^ok/));
});
