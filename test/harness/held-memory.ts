/**
 * Loaded into a process under test before its own code. To each message `held` it replies with the
 * bytes that it holds: resident memory would include garbage, which depends on the machine.
 */
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';

process.on('message', (message) => {
  if (message !== 'held') return;
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ type: 'held', bytes: heapUsed + external });
});
