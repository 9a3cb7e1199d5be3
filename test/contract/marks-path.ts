import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** As on a volume where no process ran before; it goes with the test. */
export function newMarksPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gw-marks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'memory-owner-0.json');
}
