import { write, writeSync } from 'node:fs';

/**
 * Bytes of one write: the capacity of a pipe. With 8 KiB a line of 600 bytes costs 3.7 us instead
 * of 2.4, because each write wakes a thread.
 */
const FLUSH_AT_BYTES = 64 * 1024;
const MOST_WAITING_BYTES = 16 * 1024 * 1024;
/** If a write takes longer than this, nothing reads the log. */
const STUCK_MS = 1_000;

/**
 * Destination of log lines: a file descriptor, possibly of a full disk or of a pipe without a
 * reader. Neither ends the process, delays a request, fills the memory or prevents the process from
 * ending. pino's own destination does all four (sonic-boom 4.2, tried).
 */
export function createLogDestination(fd: number) {
  let lines: string[] = [];
  let linesBytes = 0;
  /** The rest of a write that succeeded only in part. */
  let unwritten: Buffer = Buffer.alloc(0);
  let writingSinceMs: number | undefined;
  let dropped = 0;

  function takeLines(): Buffer {
    const bytes = Buffer.from(lines.join(''));
    lines = [];
    linesBytes = 0;
    return bytes;
  }

  function flush(): void {
    if (writingSinceMs !== undefined) return;
    if (unwritten.length === 0) unwritten = takeLines();
    if (unwritten.length === 0) return;
    writingSinceMs = performance.now();
    write(fd, unwritten, (error, written) => {
      writingSinceMs = undefined;
      // The disk is full, for example. The next flush retries the waiting lines.
      if (error) return;
      unwritten = unwritten.subarray(written);
      if (unwritten.length > 0 || linesBytes >= FLUSH_AT_BYTES) flush();
    });
  }

  return {
    write(line: string): void {
      const bytes = Buffer.byteLength(line);
      if (unwritten.length + linesBytes + bytes > MOST_WAITING_BYTES) {
        dropped += 1;
        return;
      }
      lines.push(line);
      linesBytes += bytes;
      if (linesBytes >= FLUSH_AT_BYTES) flush();
    },
    flush,
    /**
     * Number of lines that were dropped since the last call because too many waited. 0 while there
     * is no room for a line about them.
     */
    takeDropped(): number {
      if (unwritten.length + linesBytes > MOST_WAITING_BYTES / 2) return 0;
      const taken = dropped;
      dropped = 0;
      return taken;
    },
    /** Called at the end of the process. Writes the waiting lines first, if possible. */
    end(): void {
      // At its exit Node would wait for the writing thread, possibly for ever.
      if (writingSinceMs !== undefined && performance.now() - writingSinceMs > STUCK_MS) {
        process.kill(process.pid, 'SIGKILL');
      }
      // The thread is writing these lines already.
      const left = writingSinceMs === undefined ? [unwritten, takeLines()] : [takeLines()];
      try {
        for (let rest of left) while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
      } catch {
        // The disk is full, or the reader has ended: the last lines are lost.
      }
    },
  };
}
