import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from './deployment.ts';

/**
 * The wall clock of a gateway under test. A test sets it instead of waiting for the next minute or
 * midnight.
 */
export interface TestClock {
  /** Environment of the gateway process. */
  readonly env: Readonly<Record<string, string>>;
  nowMs(): number;
  /** Applies to the next `Date.now()` of the process. */
  set(nowMs: number): void;
  remove(): void;
}

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
    set(nowMs) {
      shiftMs = nowMs - Date.now();
      write();
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
