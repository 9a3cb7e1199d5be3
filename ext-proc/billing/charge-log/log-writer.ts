import type { Clock } from '#core/clock.ts';
import { checkedLine } from './checked-lines.ts';
import { headEntry, refusedEntry, type SegmentFile } from './log-entries.ts';
import { type Disk, type DurableLine, type LogLine, Segment } from './segment.ts';

export interface LogWriterOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The next segment. */
  readonly nextFile: () => SegmentFile;
  /** Entries of all requests that are not settled, which begin a segment. */
  readonly liveEntries: () => readonly string[];
  /** A segment begins; the ones before are ended. */
  readonly onBegun: (segment: Segment) => void;
  /** The segment has nothing: its file is removed. */
  readonly onRemoved: (segment: Segment) => void;
  /** Called when the disk no longer takes the log. Writes are retried. */
  readonly onFailure: (error: unknown) => void;
}

const SEGMENT_BYTES = 4 * 1024 * 1024;
/** A charge is kept this much longer than needed at most, because others after it are needed. */
const SEGMENT_MS = 60_000;
const RETRY_MS = 1_000;

/** Where an entry was written. */
export interface Place {
  readonly segment: SegmentFile;
  readonly position: number;
  readonly bytes: number;
}

/**
 * Writes entries to the segments of a log: at most one write in each turn of the event loop, for
 * any number of entries. What a segment does not take durably is written once more, to another.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #lines: LogLine[] = [];
  #flushing = false;
  #segment: Segment | undefined;
  #behind = false;
  #retry: NodeJS.Timeout | undefined;
  /**
   * Charges that were reported as not taken, and that a segment may have all the same. They are
   * revoked with the next lines that the disk takes.
   */
  readonly #refused = new Set<string>();

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  /** True if the disk does not take the log. */
  get isBehind(): boolean {
    return this.#behind;
  }

  /** Adds an entry, which survives the process, not the machine. */
  add(entry: string): void {
    // The next segment begins with the live requests.
    if (this.#behind && this.#segment === undefined) return;
    this.#lines.push({ line: checkedLine(entry) });
    this.#flushSoon();
  }

  /**
   * Adds an entry. Resolves with its place after the fsync. Rejects if the disk does not take it;
   * then the charge `generationId` in it is never read back.
   */
  addDurably(entry: string, generationId?: string): Promise<Place> {
    return new Promise((resolve, reject) => {
      let place: Place;
      const durable: DurableLine = {
        placed: (segment, position, bytes) => {
          place = { segment, position, bytes };
        },
        resolve: () => {
          this.#behind = false;
          resolve(place);
        },
        reject: (error) => {
          if (durable.remains && generationId !== undefined) this.#refused.add(generationId);
          reject(error);
        },
      };
      this.#lines.push({ line: checkedLine(entry), durable });
      this.#flushSoon();
    });
  }

  /**
   * Resolves if the disk takes a line, and the revocation of every charge that was reported as not
   * taken.
   */
  async prove(): Promise<void> {
    const refused = [...this.#refused];
    await this.addDurably(refusedEntry(refused));
    for (const generationId of refused) this.#refused.delete(generationId);
  }

  /** Writes what was added. */
  flush(): void {
    const lines = this.#lines.splice(0);
    if (lines.length === 0) return;
    const segment = this.#current(lines);
    if (segment === undefined) return;
    try {
      segment.write(lines, this.#options.clock.nowMs());
    } catch (error) {
      const remains = !segment.cut(false);
      this.#failed(segment, error as Error, lines, remains);
    }
  }

  /** Ends the current segment and begins another one. */
  rotate(): void {
    this.#segment?.end();
    this.#segment = undefined;
    this.#current([]);
  }

  /** Resolves when what was added is durable, or rejected. */
  async close(): Promise<void> {
    this.flush();
    if (this.#segment) await this.prove().catch(() => undefined);
    clearTimeout(this.#retry);
    this.#segment?.end();
    this.#segment = undefined;
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.flush();
    });
  }

  /** The segment for these lines. `undefined`: the disk takes none, and the lines are rejected. */
  #current(lines: readonly LogLine[]): Segment | undefined {
    const former = this.#segment;
    const nowMs = this.#options.clock.nowMs();
    if (former && former.bytes < SEGMENT_BYTES && nowMs - former.begunMs < SEGMENT_MS) return former;
    former?.end();
    this.#segment = undefined;
    let next: Segment | undefined;
    try {
      next = new Segment(this.#options.nextFile(), this.#options.disk, nowMs, (segment, error, unsynced) =>
        this.#failed(segment, error, unsynced, !segment.cut(true)),
      );
      next.write(this.#head(), nowMs);
    } catch (error) {
      if (next?.cut(false) === false) this.#options.onBegun(next);
      next?.end();
      this.#isBehind(error);
      for (const { durable } of lines) durable?.reject(error as Error);
      return undefined;
    }
    this.#segment = next;
    this.#options.onBegun(next);
    return next;
  }

  #head(): LogLine[] {
    const head = { line: checkedLine(headEntry(this.#options.liveEntries())) };
    return this.#refused.size === 0 ? [head] : [head, { line: checkedLine(refusedEntry([...this.#refused])) }];
  }

  /** Ends a segment that did not take these lines. They are written to another one, or rejected. */
  #failed(segment: Segment, error: Error, lines: readonly LogLine[], remains: boolean): void {
    segment.end();
    if (this.#segment === segment) this.#segment = undefined;
    if (segment.bytes === 0 && !remains) this.#options.onRemoved(segment);
    this.#isBehind(error);
    const durable = lines.filter((line) => line.durable !== undefined);
    if (remains) for (const line of durable) if (line.durable) line.durable.remains = true;
    for (const line of durable) if (line.durable?.hasFailed) line.durable.reject(error);
    const again = durable.filter((line) => !line.durable?.hasFailed);
    for (const line of again) if (line.durable) line.durable.hasFailed = true;
    this.#lines.unshift(...again);
    this.flush();
  }

  #isBehind(error: unknown): void {
    if (!this.#behind) this.#options.onFailure(error);
    this.#behind = true;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      if (this.#behind) this.prove().catch(() => undefined);
    }, RETRY_MS).unref();
  }
}
