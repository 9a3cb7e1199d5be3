/**
 * Loaded into a gateway process before its own code. It shifts the wall clock of the process by the
 * milliseconds in a file. Every `Date.now()` reads the file, so that a change applies at once.
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
      // The test has ended and removed the file, while the process still runs.
    }
    return machine.call(Date) + shiftMs;
  };
}
