import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '#core/config/load.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { requirement } from '../harness/requirement.ts';

const NAME = 'inference-gateway.service';
const unit = readFileSync(join(REPOSITORY, 'deploy/systemd', NAME), 'utf8');
const missing =
  spawnSync('systemd-analyze', ['--version']).status === 0
    ? undefined
    : 'systemd-analyze (Debian: apt-get install systemd)';

requirement(missing, () => {
  test('systemd accepts the unit without a warning', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gw-systemd-'));
    try {
      // The unit names the installation folder, which here is the repository.
      writeFileSync(join(folder, NAME), unit.replaceAll('/opt/inference-gateway', REPOSITORY));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, NAME)], {
        encoding: 'utf8',
      });
      // Ignores warnings about other units of this machine.
      expect(stderr.split('\n').filter((line) => line.includes(NAME))).toEqual([]);
      expect(status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test('the configuration that the manual copies has no demo model', async () => {
  const manual = readFileSync(join(REPOSITORY, 'docs/operating.md'), 'utf8');
  const [, copied] = /cp (config\/\S+\.yaml) \/etc\/inference-gateway\/gateway\.yaml/.exec(manual) ?? [];
  const loaded = await loadConfig(join(REPOSITORY, copied ?? 'none'), { OPENAI_API_KEY: 'k' }, { secrets: 'gateway' });
  if (!loaded.ok) throw new Error(loaded.problems[0]?.message);
  const { demo, providers, models } = loaded.config;
  expect([loaded.warnings, demo, [...providers.keys()], [...models.keys()]]).toEqual([
    [],
    false,
    ['openai'],
    ['gpt-6-luna'],
  ]);
});
