import { rm } from 'node:fs/promises';
import type { Clock } from '#core/clock.ts';
import { entryWithoutResponse } from './log-entries.ts';
import { readSegment, rewriteSegment, type SegmentFile } from './segment-files.ts';

export interface KeptSegment extends SegmentFile {
  bytes: number;
  /** Monotonic time of the last write, or of the start that found it. */
  readonly lastMs: number;
  /** Number of its charges that wait. */
  waiting: number;
  /** Bytes of charges with stored responses. */
  responseBytes: number;
  /** False while the segment may still be written. */
  readonly isClosed: boolean;
}

const KEEP_MS = 15 * 60_000;
/** About 90,000 charges: 15 minutes of 100 a second. */
const KEEP_BYTES = 64 * 1024 * 1024;

/**
 * Segments of a log in order. They are kept for the charges of the last minutes. The oldest is
 * always removed first, because later segments say which of its charges were committed.
 */
export class KeptSegments {
  readonly #clock: Clock;
  #segments: KeptSegment[] = [];
  #tidying: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  files(): readonly SegmentFile[] {
    return [...this.#segments];
  }

  add(...segments: readonly KeptSegment[]): void {
    this.#segments.push(...segments);
    this.#segments.sort((a, b) => a.number - b.number);
  }

  /** Removes what is no longer needed. Never rejects: the next call retries what failed. */
  tidy(): Promise<void> {
    this.#tidying = this.#tidying.then(() => this.#tidy()).catch(() => undefined);
    return this.#tidying;
  }

  async #tidy(): Promise<void> {
    for (const kept of this.#segments) if (kept.responseBytes > 0 && isOver(kept)) await dropResponses(kept);
    let bytes = this.#segments.reduce((sum, kept) => sum + kept.bytes - kept.responseBytes, 0);
    for (let first = this.#segments[0]; first && isOver(first); first = this.#segments[0]) {
      if (bytes <= KEEP_BYTES && first.lastMs >= this.#clock.monotonicMs() - KEEP_MS) return;
      await rm(first.path, { force: true });
      bytes -= first.bytes;
      this.#segments.shift();
    }
  }
}

/** Removes stored responses, which are large and would leave no room for charges. */
async function dropResponses(kept: KeptSegment): Promise<void> {
  const { lines } = await readSegment(kept);
  kept.bytes = await rewriteSegment(kept, lines, ({ text }) => entryWithoutResponse(text));
  kept.responseBytes = 0;
}

function isOver({ isClosed, waiting }: KeptSegment): boolean {
  return isClosed && waiting === 0;
}
