import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const TAIL_LINES = 20;
const WORTH_FORWARDING = /^(WARNING|ERROR|FATAL|PANIC|LOG):/;
/** The last line of a start, which may arrive after the first connection has been accepted. */
const READY = /^LOG:\s+database system is ready to accept connections$/;

export interface ServerLog {
  /** The last lines, for the message when the server does not start. */
  tail(): string;
  startForwarding(): void;
  stopForwarding(): void;
}

/**
 * Reads the server's log to its end. Lines of start and stop are shown only if these fail.
 */
export function collectServerLog(stream: Readable, forward: (line: string) => void): ServerLog {
  const last: string[] = [];
  let forwarding = false;
  createInterface({ input: stream }).on('line', (line) => {
    last.push(line);
    if (last.length > TAIL_LINES) last.shift();
    if (forwarding && WORTH_FORWARDING.test(line) && !READY.test(line)) forward(line);
  });
  return {
    tail: () => last.join('\n'),
    startForwarding: () => {
      forwarding = true;
    },
    stopForwarding: () => {
      forwarding = false;
    },
  };
}
