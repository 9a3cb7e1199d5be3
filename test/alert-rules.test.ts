import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { requirement } from './harness/requirement.ts';

const PROMTOOL = process.env.PROMTOOL ?? 'promtool';

requirement(missingPromtool(), () => {
  const folder = fileURLToPath(new URL('../deploy/observability/', import.meta.url));
  // It collects its garbage less often: a fifth of its CPU.
  const env = { ...process.env, GOGC: '800' };
  const promtool = (...args: string[]) =>
    execFileSync(PROMTOOL, args, { cwd: folder, env, encoding: 'utf8', timeout: 280_000, stdio: 'pipe' });

  test('alerts are accepted by promtool, and each one fires alone on its condition', { timeout: 300_000 }, () => {
    expect(promtool('check', 'rules', 'alerts.yaml', 'recording-rules.yaml')).not.toContain('FAILED');
    expect(promtool('test', 'rules', 'alerts.test.yaml')).toContain('SUCCESS');
  });
});

function missingPromtool(): string | undefined {
  try {
    execFileSync(PROMTOOL, ['--version'], { stdio: 'ignore', timeout: 60_000 });
    return undefined;
  } catch {
    return 'promtool on the PATH (Debian: apt-get install prometheus)';
  }
}
