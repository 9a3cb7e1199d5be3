import type { Clock } from '#core/clock.ts';
import { checkedLine } from './checked-lines.ts';
import { committedEntry, headEntry } from './log-entries.ts';
import { type Disk, type LogLine, type Place, Segment } from './segment.ts';
import type { SegmentFile } from './segment-files.ts';

export interface LogWriterOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly nextFile: () => SegmentFile;
  /** Entries of all unsettled requests. Each segment begins with them. */
  readonly liveEntries: () => readonly string[];
  /** Called when a segment has begun. Those before it have ended. */
  readonly onBegun: (segment: Segment) => void;
  /** Called when writes to the disk begin to fail. They are retried. */
  readonly onFailure: (error: unknown) => void;
}

const SEGMENT_BYTES = 4 * 1024 * 1024;
/** A charge is kept at most this much longer than needed, until its whole segment is removed. */
const SEGMENT_MS = 60_000;
const RETRY_MS = 1_000;
/**
 * Most characters of one write, unless a single line is longer. Stored responses of one turn of the
 * event loop can together exceed the longest string of V8 (512 Mi characters).
 */
const WRITE_CHARACTERS = 8 * 1024 * 1024;

/**
 * Writes entries to the segments of a log. Entries that were added in one turn of the event loop
 * share a write, unless they are very long. If a write or sync fails, the lines are cut off from
 * the segment. Those that have to be durable are written once more, to another segment.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #lines: LogLine[] = [];
  /** Notes that no segment has. The next segment begins with all of them. */
  #unwrittenNotes: LogLine[] = [];
  #flushing = false;
  /** Absent before the first write, and after a failure. */
  #segment: Segment | undefined;
  #isFailing = false;
  #retry: NodeJS.Timeout | undefined;
  /** Segments that may still have lines whose writing was reported as failed. */
  readonly #uncut = new Set<Segment>();

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  /** True while the disk fails. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Adds an entry that survives a crash of the process, but not of the machine. */
  add(entry: string): void {
    // Not needed: the next segment begins with the live requests.
    if (this.#isFailing && this.#segment === undefined) return;
    this.#lines.push({ line: checkedLine(entry) });
    this.#flushSoon();
  }

  /** Adds an entry that must not be lost. If the disk fails, it is written again later. */
  note(entry: string): void {
    const note: LogLine = { line: checkedLine(entry), isNote: true };
    if (this.#isFailing && this.#segment === undefined) this.#unwrittenNotes.push(note);
    else {
      this.#lines.push(note);
      this.#flushSoon();
    }
  }

  /**
   * Adds an entry. Resolves after the fdatasync. Rejects if two segments fail to store it, or none
   * can be opened. The line is then cut off.
   */
  addDurably(entry: string): Promise<Place> {
    return new Promise((resolve, reject) => {
      this.#lines.push({ line: checkedLine(entry), wait: { resolve, reject } });
      this.#flushSoon();
    });
  }

  /** Resolves if all failed lines are cut off and another line is written durably. */
  async prove(): Promise<void> {
    this.#cut();
    if (this.#uncut.size > 0) throw new Error('a charge that was not taken cannot be cut off');
    await this.addDurably(committedEntry([], undefined));
    // A retry is due if the disk failed again meanwhile. The written line does not disprove that.
    this.#isFailing = this.#retry !== undefined;
  }

  /** Resolves when every note is written. Rejects if the disk fails. */
  async writeNotes(): Promise<void> {
    this.flush();
    if (this.#unwrittenNotes.length > 0) await this.prove();
  }

  /** Writes the added entries. */
  flush(): void {
    for (let lines = this.#nextLines(); lines.length > 0; lines = this.#nextLines()) this.#write(lines);
  }

  /** Begins another segment. Throws if the disk fails. */
  rotate(): void {
    this.#segment?.end();
    this.#segment = undefined;
    this.#segment = this.#current();
  }

  /** Resolves when every added entry is durable or was rejected. */
  async close(): Promise<void> {
    this.flush();
    if (this.#segment || this.#unwrittenNotes.length > 0) await this.prove().catch(() => undefined);
    clearTimeout(this.#retry);
    this.#segment?.end();
    this.#segment = undefined;
  }

  /** Removes and returns the first lines, as many as one write may have, but at least one. */
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
      this.#unwrittenNotes.push(...lines.filter(({ isNote }) => isNote));
      for (const { wait } of lines) wait?.reject(error);
      return;
    }
    try {
      this.#segment.write(lines, this.#options.clock.monotonicMs());
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

  /** The segment to write to. Begins another if it is full or old. Throws if the disk fails. */
  #current(): Segment {
    const { clock, disk, nextFile, liveEntries, onBegun } = this.#options;
    const former = this.#segment;
    const nowMs = clock.monotonicMs();
    if (former && former.bytes < SEGMENT_BYTES && nowMs - former.begunMs < SEGMENT_MS) return former;
    former?.end();
    this.#segment = undefined;
    this.#cut();
    const next = new Segment(nextFile(), disk, nowMs, (segment, lines, error) => this.#retire(segment, lines, error));
    try {
      next.write([{ line: checkedLine(headEntry(liveEntries())) }, ...this.#unwrittenNotes], nowMs);
      this.#unwrittenNotes = [];
    } catch (error) {
      next.remove();
      throw error;
    }
    onBegun(next);
    return next;
  }

  /** Ends a segment that failed to store these lines. They go to another one, or are rejected. */
  #retire(segment: Segment, lines: readonly LogLine[], error: unknown): void {
    if (!segment.end()) this.#uncut.add(segment);
    if (this.#segment === segment) this.#segment = undefined;
    this.#failed(error);
    const again: LogLine[] = [];
    for (const one of lines) {
      if (one.isNote) (this.#segment ? again : this.#unwrittenNotes).push(one);
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
    if (!this.#isFailing) this.#options.onFailure(error);
    this.#isFailing = true;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      if (this.#isFailing) this.prove().catch((problem: unknown) => this.#failed(problem));
    }, RETRY_MS).unref();
  }
}
