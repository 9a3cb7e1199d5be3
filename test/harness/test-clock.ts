import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { REPOSITORY } from './deployment.ts';

/**
 * The wall clock of a gateway under test, so that nobody has to wait for the next minute or for
 * midnight.
 */
export interface TestClock {
  /** For the gateway process. */
  readonly env: Readonly<Record<string, string>>;
  nowMs(): number;
  /** Resolves when the process has it. */
  set(nowMs: number): Promise<void>;
  remove(): void;
}

/** Longer than the process takes to read the file again. */
const NOTICED_MS = 100;

export function createTestClock(): TestClock {
  const folder = mkdtempSync(join(tmpdir(), 'gw-clock-'));
  const file = join(folder, 'shift');
  let shiftMs = 0;
  const write = (): void => {
    writeFileSync(`${file}.new`, String(shiftMs));
    renameSync(`${file}.new`, file);
  };
  write();
  return {
    env: { TEST_CLOCK_FILE: file, NODE_OPTIONS: `--import=${join(REPOSITORY, 'test/harness/shifted-clock.ts')}` },
    nowMs: () => Date.now() + shiftMs,
    async set(nowMs) {
      shiftMs = nowMs - Date.now();
      write();
      await sleep(NOTICED_MS);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
