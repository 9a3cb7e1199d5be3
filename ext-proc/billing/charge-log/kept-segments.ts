import { rm } from 'node:fs/promises';
import type { Clock } from '#core/clock.ts';
import { type SegmentFile, withoutAnswer } from './log-entries.ts';
import type { Segment } from './segment.ts';
import { readSegment, rewriteSegment } from './segment-files.ts';

export interface KeptSegment {
  file: SegmentFile;
  /** Absent: a former process wrote it. */
  readonly written?: Segment;
  bytes: number;
  /** When it was written last. */
  lastMs: number;
  /** Charges in it that wait. */
  waiting: number;
  /** Bytes of charges with stored responses. */
  answerBytes: number;
}

const KEEP_MS = 15 * 60_000;
/** About 90,000 charges: 15 minutes of 100 a second. */
const KEEP_BYTES = 64 * 1024 * 1024;

/**
 * Segments of a log in order, kept for the charges of the last minutes. None goes before the one
 * that it follows, because it says what became of the charges there.
 */
export class KeptSegments {
  readonly #clock: Clock;
  #segments: KeptSegment[] = [];
  #tidying: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  files(): SegmentFile[] {
    return this.#segments.map(({ file }) => file);
  }

  of(file: SegmentFile): KeptSegment | undefined {
    return this.#segments.findLast((kept) => kept.file.number === file.number);
  }

  add(...segments: readonly KeptSegment[]): void {
    this.#segments.push(...segments);
    this.#segments.sort((a, b) => a.file.number - b.file.number);
  }

  /** A segment begins: the one before has its last bytes. */
  begin(segment: Segment): void {
    for (const kept of this.#segments) {
      if (kept.written === undefined || kept.lastMs === kept.written.lastMs) continue;
      kept.bytes = kept.written.bytes;
      kept.lastMs = kept.written.lastMs;
    }
    this.add({ file: segment.file, written: segment, bytes: 0, lastMs: 0, waiting: 0, answerBytes: 0 });
    this.tidy();
  }

  remove(file: SegmentFile): void {
    this.#segments = this.#segments.filter((kept) => kept.file.number !== file.number);
  }

  /** Removes what is no longer needed. Rejects if the disk fails; it is tried again later. */
  tidy(): Promise<void> {
    this.#tidying = this.#tidying.then(() => this.#tidy()).catch(() => undefined);
    return this.#tidying;
  }

  async #tidy(): Promise<void> {
    for (const kept of this.#segments) if (kept.answerBytes > 0 && isOver(kept)) await this.#dropAnswers(kept);
    let bytes = this.#segments.reduce((sum, kept) => sum + kept.bytes - kept.answerBytes, 0);
    for (let first = this.#segments[0]; first !== undefined && isOver(first); first = this.#segments[0]) {
      if (bytes <= KEEP_BYTES && first.lastMs >= this.#clock.nowMs() - KEEP_MS) return;
      await rm(first.file.path, { force: true });
      bytes -= first.bytes;
      this.#segments.shift();
    }
  }

  /** Stored responses are large, and would displace the charges of others. */
  async #dropAnswers(kept: KeptSegment): Promise<void> {
    const { lines } = await readSegment(kept.file);
    kept.bytes = await rewriteSegment(kept.file, lines, ({ text }) => withoutAnswer(text));
    kept.answerBytes = 0;
  }
}

function isOver({ written, waiting }: KeptSegment): boolean {
  return waiting === 0 && (written === undefined || written.isClosed);
}
