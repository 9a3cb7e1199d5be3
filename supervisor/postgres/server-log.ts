import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const TAIL_LINES = 20;
const WORTH_FORWARDING = /^(WARNING|ERROR|FATAL|PANIC|LOG):/;
/** The last line of a start. A client is served after it only. */
const READY = /^LOG:\s+database system is ready to accept connections$/;

export interface ServerLog {
  /** The last lines, for the message when the server does not start. */
  tail(): string;
  stopForwarding(): void;
}

/**
 * Reads the server's log to its end. Lines of start and stop are shown only if these fail. The
 * lines decide when a start is over: they may be read later than the server's state.
 */
export function collectServerLog(stream: Readable, forward: (line: string) => void): ServerLog {
  const last: string[] = [];
  let isReady = false;
  let isStopping = false;
  createInterface({ input: stream }).on('line', (line) => {
    last.push(line);
    if (last.length > TAIL_LINES) last.shift();
    if (READY.test(line)) isReady = true;
    else if (isReady && !isStopping && WORTH_FORWARDING.test(line)) forward(line);
  });
  return {
    tail: () => last.join('\n'),
    stopForwarding: () => {
      isStopping = true;
    },
  };
}
