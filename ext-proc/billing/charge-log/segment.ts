import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from './damaged-lines.ts';
import type { KeptSegment } from './kept-segments.ts';
import type { SegmentFile } from './segment-files.ts';

/** System calls on the files of the log. */
export interface Disk {
  readonly openSync: (path: string) => number;
  readonly writeSync: (descriptor: number, bytes: Buffer, offset: number) => number;
  readonly fdatasync: (descriptor: number, done: (error: Error | null) => void) => void;
  /** Truncates the file, and returns when that is durable. */
  readonly truncateSync: (descriptor: number, bytes: number) => void;
}

export const DISK: Disk = {
  openSync: (path) => openSync(path, 'ax', 0o600),
  writeSync,
  fdatasync,
  truncateSync(descriptor, bytes) {
    ftruncateSync(descriptor, bytes);
    fdatasyncSync(descriptor);
  },
};

/** Where an entry was written. */
export interface Place<S extends SegmentFile = KeptSegment> {
  readonly segment: S;
  readonly position: number;
  /** Size of its line, without the line feed. */
  readonly bytes: number;
}

export interface LogLine {
  readonly line: string;
  /** The caller that waits for the fdatasync. Absent: none does. */
  readonly wait?: {
    readonly resolve: (place: Place) => void;
    readonly reject: (error: unknown) => void;
    place?: Place;
    /** True after one segment failed to store the line. */
    hasFailed?: boolean;
  };
  /** True if the line is written to another segment when this one fails to store it. */
  readonly isNote?: true;
}

type OnSyncFailed = (segment: Segment, lines: readonly LogLine[], error: unknown) => void;

/**
 * The segment that is being written. Lines that arrive during an fdatasync share the next one.
 * After a failure nothing more is written, because it is unknown what a failed sync has lost.
 */
export class Segment implements KeptSegment {
  readonly number: number;
  readonly path: string;
  readonly begunMs: number;
  bytes = 0;
  lastMs: number;
  waiting = 0;
  responseBytes = 0;
  readonly #disk: Disk;
  readonly #onSyncFailed: OnSyncFailed;
  /** -1: closed. */
  #descriptor: number;
  #durableBytes = 0;
  #unsynced: LogLine[] = [];
  #syncing = false;
  #nameIsDurable = false;
  #ended = false;
  /** True if the file may be longer than `bytes`. */
  #uncut = false;

  /** Throws if the file cannot be created. */
  constructor({ number, path }: SegmentFile, disk: Disk, nowMs: number, onSyncFailed: OnSyncFailed) {
    this.number = number;
    this.path = path;
    this.begunMs = nowMs;
    this.lastMs = nowMs;
    this.#disk = disk;
    this.#onSyncFailed = onSyncFailed;
    this.#descriptor = disk.openSync(path);
  }

  get isClosed(): boolean {
    return this.#descriptor === -1;
  }

  /** Writes lines, and begins an fdatasync if a caller waits. Throws if some were not written. */
  write(lines: readonly LogLine[], nowMs: number): void {
    const content = Buffer.from(lines.map(({ line }) => line).join(''));
    this.#uncut = true;
    for (let at = 0; at < content.length; ) at += this.#disk.writeSync(this.#descriptor, content, at);
    this.#uncut = false;
    let position = this.bytes;
    for (const one of lines) {
      const bytes = Buffer.byteLength(one.line);
      if (one.wait) {
        one.wait.place = { segment: this, position, bytes: bytes - 1 };
      }
      if (one.wait || one.isNote) this.#unsynced.push(one);
      position += bytes;
    }
    this.bytes = position;
    this.lastMs = nowMs;
    this.#syncIfAwaited();
  }

  /** Ends the segment. Returns false if the file may still have lines that failed. */
  end(): boolean {
    this.#ended = true;
    if (this.#uncut) this.#cut();
    if (!this.isClosed && !this.#syncing && !this.#uncut) {
      closeSync(this.#descriptor);
      this.#descriptor = -1;
    }
    return !this.#uncut;
  }

  /** Removes a segment whose head could not be written. */
  remove(): void {
    closeSync(this.#descriptor);
    unlinkSync(this.path);
  }

  #cut(): void {
    try {
      this.#disk.truncateSync(this.#descriptor, this.bytes);
      this.#uncut = false;
    } catch {
      // The owner retries, and reports that the disk fails.
    }
  }

  #syncIfAwaited(): boolean {
    const isAwaited = this.#unsynced.some(({ wait }) => wait !== undefined);
    if (isAwaited && !this.#syncing) this.#sync();
    return isAwaited;
  }

  #sync(): void {
    this.#syncing = true;
    const group = this.#unsynced;
    const bytes = this.bytes;
    this.#unsynced = [];
    this.#disk.fdatasync(this.#descriptor, (error) => {
      if (error || this.#nameIsDurable) this.#synced(group, bytes, error);
      else
        syncFolder(dirname(this.path)).then(
          () => this.#synced(group, bytes, null),
          (problem: unknown) => this.#synced(group, bytes, problem),
        );
    });
  }

  #synced(group: readonly LogLine[], bytes: number, error: unknown): void {
    this.#syncing = false;
    if (error) {
      this.bytes = this.#durableBytes;
      this.#uncut = true;
      this.#onSyncFailed(this, [...group, ...this.#unsynced.splice(0)], error);
      return;
    }
    this.#nameIsDurable = true;
    this.#durableBytes = bytes;
    for (const { wait } of group) if (wait?.place) wait.resolve(wait.place);
    if (!this.#syncIfAwaited() && this.#ended) this.end();
  }
}
