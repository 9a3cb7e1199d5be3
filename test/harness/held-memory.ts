/**
 * Loaded into a process under test before its own code. To each message `held` it replies with the
 * bytes that it holds: resident memory would include garbage, which depends on the machine.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

process.on('message', (message) => {
  if (message !== 'held') return;
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ type: 'held', bytes: heapUsed + external });
});
