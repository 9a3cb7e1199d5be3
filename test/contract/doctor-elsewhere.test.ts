import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { createDatabase } from '../harness/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function findings(more: Record<string, string>): Promise<readonly Finding[]> {
  const env = { GATEWAY_DATA: folder, GATEWAY_CONFIG: join(folder, 'none.yaml'), ...more };
  const result = await runCommandLine(['doctor'], env);
  if (result.kind === 'usage') throw new Error(result.message);
  return (result.json as { readonly findings: readonly Finding[] }).findings;
}

describe('the doctor without a configuration', () => {
  it('checks the given database, and reports which checks it skipped', async () => {
    const found = await findings({ DATABASE_URL: await createDatabase() });
    expect(found[0]).toMatchObject({ check: 'configuration', verdict: 'warning' });
    expect(found[0]?.found).toMatch(/there is no .*none\.yaml here: Redis, .* and providers were not checked/);
    expect(found.find(({ check }) => check === 'database')?.verdict).toBe('ok');
  });

  it('reports the missing file if there is no database either', async () => {
    expect((await findings({}))[0]).toMatchObject({ check: 'configuration', verdict: 'problem' });
  });
});
