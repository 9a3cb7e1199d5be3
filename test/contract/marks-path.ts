import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The path of marks on a new volume. The folder is removed after the test. */
export function newMarksPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gw-marks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'memory-owner-0.json');
}
