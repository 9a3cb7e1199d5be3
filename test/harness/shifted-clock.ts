/**
 * Loaded into a gateway process before its own code: its wall clock stands apart from the machine's
 * by what a file says.
 */
import { readFileSync } from 'node:fs';

const path = process.env.TEST_CLOCK_FILE;
if (path !== undefined) {
  const machine = Date.now;
  let shiftMs = 0;
  const read = (): void => {
    shiftMs = Number(readFileSync(path, 'utf8')) || 0;
  };
  read();
  setInterval(read, 10).unref();
  Date.now = () => machine.call(Date) + shiftMs;
}
