/** Takes the data lock at a given moment and says whether it has it: data-lock.test.ts runs several at once. */
import { takeDataLock } from '../data-lock.ts';

const [path = '', atMs = '0'] = process.argv.slice(2);
while (Date.now() < Number(atMs)) {
  // All of them at the same moment.
}
process.send?.('lockedBy' in takeDataLock(path) ? 'refused' : 'taken');
// Holds it until the test disconnects: a listener keeps the channel, and with it the process, open.
process.on('message', () => {});
