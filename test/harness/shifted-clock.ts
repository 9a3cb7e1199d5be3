/**
 * Loaded into a gateway process before its own code: its wall clock stands apart from the machine's
 * by what a file says. The file is read each time, because a process that is busy would notice a
 * change at no time that a test can know.
 */
import { readFileSync } from 'node:fs';

const path = process.env.TEST_CLOCK_FILE;
if (path !== undefined) {
  const machine = Date.now;
  let shiftMs = 0;
  Date.now = () => {
    try {
      shiftMs = Number(readFileSync(path, 'utf8'));
    } catch {
      // The test has ended and taken the file away; the process has not ended yet.
    }
    return machine.call(Date) + shiftMs;
  };
}
