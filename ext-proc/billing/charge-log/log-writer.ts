import type { Clock } from '#core/clock.ts';
import { checkedLine } from './checked-lines.ts';
import { committedEntry, headEntry } from './log-entries.ts';
import { type Disk, type LogLine, type Place, Segment } from './segment.ts';
import type { SegmentFile } from './segment-files.ts';

export interface LogWriterOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The next segment. */
  readonly nextFile: () => SegmentFile;
  /** Entries of all requests that are not settled, which begin a segment. */
  readonly liveEntries: () => readonly string[];
  /** A segment begins; the ones before are ended. */
  readonly onBegun: (segment: Segment) => void;
  /** Called when the disk no longer takes the log. Writes are retried. */
  readonly onFailure: (error: unknown) => void;
}

const SEGMENT_BYTES = 4 * 1024 * 1024;
/** A charge is kept this much longer than needed at most, because others after it are needed. */
const SEGMENT_MS = 60_000;
const RETRY_MS = 1_000;
/**
 * One write has so many characters at most, or one line. Stored responses of one turn together can
 * exceed the longest string of V8 (512 Mi characters).
 */
const WRITE_CHARACTERS = 8 * 1024 * 1024;

/**
 * Writes entries to the segments of a log: all that were added in a turn of the event loop in one
 * write, unless they are very long. What a segment does not take durably is cut off from it, and
 * written once more, to another.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #lines: LogLine[] = [];
  /** Notes that no segment has taken. The next segment begins with them, so none is owed after. */
  #owed: LogLine[] = [];
  #flushing = false;
  /** Absent: the disk has not taken one yet, or no longer takes it. */
  #segment: Segment | undefined;
  #behind = false;
  #retry: NodeJS.Timeout | undefined;
  /** Segments that may have what was reported as not taken. */
  readonly #uncut = new Set<Segment>();

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
   * Adds an entry that must not be lost while the process runs: if the disk does not take it, it is
   * written again as soon as the disk works.
   */
  note(entry: string): void {
    const note: LogLine = { line: checkedLine(entry), isNote: true };
    if (this.#behind && this.#segment === undefined) this.#owed.push(note);
    else {
      this.#lines.push(note);
      this.#flushSoon();
    }
  }

  /**
   * Adds an entry. Resolves after the fsync. Rejects if the disk does not take it; then it is cut
   * off.
   */
  addDurably(entry: string): Promise<Place> {
    return new Promise((resolve, reject) => {
      this.#lines.push({ line: checkedLine(entry), wait: { resolve, reject } });
      this.#flushSoon();
    });
  }

  /** Resolves if the disk takes a line, and has nothing that was reported as not taken. */
  async prove(): Promise<void> {
    this.#cut();
    if (this.#uncut.size > 0) throw new Error('a charge that was not taken cannot be cut off');
    await this.addDurably(committedEntry([], undefined));
    this.#behind = false;
  }

  /** Resolves when every note is written. Rejects if the disk does not take an owed note. */
  async writeNotes(): Promise<void> {
    this.flush();
    if (this.#owed.length > 0) await this.prove();
  }

  /** Writes what was added. */
  flush(): void {
    for (let lines = this.#nextLines(); lines.length > 0; lines = this.#nextLines()) this.#write(lines);
  }

  /** Begins another segment. Throws if the disk does not take it. */
  rotate(): void {
    this.#segment?.end();
    this.#segment = undefined;
    this.#segment = this.#current();
  }

  /** Resolves when what was added is durable, or rejected. */
  async close(): Promise<void> {
    this.flush();
    if (this.#segment || this.#owed.length > 0) await this.prove().catch(() => undefined);
    clearTimeout(this.#retry);
    this.#segment?.end();
    this.#segment = undefined;
  }

  /** Takes as many lines from the front as one write may have, at least one. */
  #nextLines(): readonly LogLine[] {
    let characters = 0;
    const over = this.#lines.findIndex(({ line }) => {
      characters += line.length;
      return characters > WRITE_CHARACTERS;
    });
    return this.#lines.splice(0, over === -1 ? this.#lines.length : Math.max(1, over));
  }

  #write(lines: readonly LogLine[]): void {
    try {
      this.#segment = this.#current();
    } catch (error) {
      this.#failed(error);
      this.#owed.push(...lines.filter(({ isNote }) => isNote));
      for (const { wait } of lines) wait?.reject(error);
      return;
    }
    try {
      this.#segment.write(lines, this.#options.clock.nowMs());
    } catch (error) {
      this.#retire(this.#segment, lines, error);
    }
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.flush();
    });
  }

  /** Throws if the disk does not take a segment. */
  #current(): Segment {
    const { clock, disk, nextFile, liveEntries, onBegun } = this.#options;
    const former = this.#segment;
    const nowMs = clock.nowMs();
    if (former && former.bytes < SEGMENT_BYTES && nowMs - former.begunMs < SEGMENT_MS) return former;
    former?.end();
    this.#segment = undefined;
    this.#cut();
    const next = new Segment(nextFile(), disk, nowMs, (segment, lines, error) => this.#retire(segment, lines, error));
    try {
      next.write([{ line: checkedLine(headEntry(liveEntries())) }, ...this.#owed], nowMs);
      this.#owed = [];
    } catch (error) {
      next.remove();
      throw error;
    }
    onBegun(next);
    return next;
  }

  /** Ends a segment that did not take these lines. They are written to another one, or rejected. */
  #retire(segment: Segment, lines: readonly LogLine[], error: unknown): void {
    if (!segment.end()) this.#uncut.add(segment);
    if (this.#segment === segment) this.#segment = undefined;
    this.#failed(error);
    const again: LogLine[] = [];
    for (const one of lines) {
      if (one.isNote) (this.#segment ? again : this.#owed).push(one);
      else if (one.wait?.hasFailed) one.wait.reject(error);
      else if (one.wait) {
        one.wait.hasFailed = true;
        again.push(one);
      }
    }
    this.#lines.unshift(...again);
    this.flush();
  }

  #cut(): void {
    for (const segment of this.#uncut) if (segment.end()) this.#uncut.delete(segment);
  }

  #failed(error: unknown): void {
    if (!this.#behind) this.#options.onFailure(error);
    this.#behind = true;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      if (this.#behind) this.prove().catch((problem: unknown) => this.#failed(problem));
    }, RETRY_MS).unref();
  }
}
