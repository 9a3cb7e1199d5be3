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
  test('the systemd unit is one that systemd takes without a warning', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gw-systemd-'));
    try {
      // The unit names the folder of an installation; here this is the repository.
      writeFileSync(join(folder, NAME), unit.replaceAll('/opt/inference-gateway', REPOSITORY));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, NAME)], {
        encoding: 'utf8',
      });
      // Other units of this machine do not matter.
      expect(stderr.split('\n').filter((line) => line.includes(NAME))).toEqual([]);
      expect(status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test('the configuration that the manual has people copy has no demonstration', async () => {
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
