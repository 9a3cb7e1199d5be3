import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { isJournaled } from '#supervisor/startup/announce.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { REPOSITORY } from '../../harness/deployment.ts';
import { type Home, makeHome, statusOfModels } from '../../harness/service.ts';
import { startProcess } from '../../launchers/child-process.ts';

/**
 * The key and the password of a first start are shown to the person who started it, but not
 * written to the journal of systemd.
 */
let home: Home | undefined;
afterEach(() => home?.remove());

/** Starts a command with JOURNAL_STREAM set as systemd does if the output is a journal. */
const AS_A_SERVICE = 'export JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2); exec "$0" "$@"';

test('under systemd they are in a file of mode 0600, and the journal has its path', async () => {
  home = await makeHome();
  const program = [process.execPath, join(REPOSITORY, 'supervisor/main.ts')];
  const service = startProcess('sh', ['-c', AS_A_SERVICE, ...program], {
    cwd: REPOSITORY,
    env: home.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await expect.poll(() => service.output()).toContain('Ctrl-C drains');
    const path = join(home.folder, 'data/first-sign-in');
    expect(service.output()).toContain(`  ${path}\n`);
    expect([statSync(path).mode & 0o777, statSync(path).uid]).toEqual([0o600, process.getuid?.()]);
    const kept = readFileSync(path, 'utf8');
    const demoKey = /sk-gw-[\w-]{43}/.exec(kept)?.[0] ?? '';
    const password = /^ {2}demo@example\.com {3}(\S+)$/m.exec(kept)?.[1] ?? '';
    expect([demoKey.length, password.length > 10]).toEqual([49, true]);
    expect(await statusOfModels(home, { demoKey })).toBe(200);
    expect(service.output()).not.toMatch(/sk-gw-/);
    expect(service.output()).not.toContain(password);
    // The owner may delete the file.
    rmSync(path);
  } finally {
    await service.end('SIGTERM', PATIENCE_MS);
  }
});

test('a JOURNAL_STREAM of another output is ignored', () => {
  expect(isJournaled({})).toBe(false);
  expect(isJournaled({ JOURNAL_STREAM: '1:2' })).toBe(false);
});
