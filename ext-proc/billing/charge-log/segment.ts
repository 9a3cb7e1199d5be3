import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from './damaged-lines.ts';
import type { SegmentFile } from './log-entries.ts';

/** Calls of the disk. */
export interface Disk {
  readonly openSync: (path: string) => number;
  readonly writeSync: (descriptor: number, bytes: Buffer, offset: number) => number;
  readonly fdatasync: (descriptor: number, done: (error: Error | null) => void) => void;
  /** Durably. */
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

/** Line of the log, and who waits until it is durable. */
export interface LogLine {
  readonly line: string;
  /** Absent: nobody waits. */
  readonly durable?: DurableLine;
}

export interface DurableLine {
  /** Called after the write, before the sync. */
  readonly placed: (segment: SegmentFile, position: number, bytes: number) => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Present if a segment may still have it that did not take it. */
  remains?: true;
  hasFailed?: true;
}

/**
 * The segment that is written. Lines that arrive during an fdatasync share the next one. After a
 * failure nothing more is written to it, because what a failed sync has lost is unknown.
 */
export class Segment {
  readonly file: SegmentFile;
  readonly begunMs: number;
  bytes = 0;
  /** When it was written last. */
  lastMs: number;
  #durableBytes = 0;
  readonly #disk: Disk;
  /** -1: closed. */
  #descriptor: number;
  readonly #onSyncFailed: (segment: Segment, error: Error, lines: readonly LogLine[]) => void;
  #unsynced: LogLine[] = [];
  #syncing = false;
  #nameIsDurable = false;
  #ended = false;

  /** Throws if the disk does not take the file. */
  constructor(
    file: SegmentFile,
    disk: Disk,
    begunMs: number,
    onSyncFailed: (segment: Segment, error: Error, lines: readonly LogLine[]) => void,
  ) {
    this.file = file;
    this.begunMs = begunMs;
    this.lastMs = begunMs;
    this.#disk = disk;
    this.#onSyncFailed = onSyncFailed;
    this.#descriptor = disk.openSync(file.path);
  }

  /**
   * Writes lines, and begins to sync if one of them has to be durable. Throws if the disk does not
   * take all of them.
   */
  write(lines: readonly LogLine[], nowMs: number): void {
    const content = Buffer.from(
      lines.length === 1 ? (lines[0] as LogLine).line : lines.map(({ line }) => line).join(''),
    );
    for (let at = 0; at < content.length; ) at += this.#disk.writeSync(this.#descriptor, content, at);
    let position = this.bytes;
    this.bytes += content.length;
    this.lastMs = nowMs;
    for (const one of lines) {
      const bytes = Buffer.byteLength(one.line);
      one.durable?.placed(this.file, position, bytes - 1);
      if (one.durable) this.#unsynced.push(one);
      position += bytes;
    }
    if (this.#unsynced.length > 0) this.#sync();
  }

  /** Nothing more will be written. */
  end(): void {
    this.#ended = true;
    if (this.#syncing || this.isClosed) return;
    closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  get isClosed(): boolean {
    return this.#descriptor === -1;
  }

  /**
   * Cuts off what did not become whole or durable. Returns false if that fails. An empty file is
   * removed.
   */
  cut(durably: boolean): boolean {
    if (durably) this.bytes = this.#durableBytes;
    try {
      this.#disk.truncateSync(this.#descriptor, this.bytes);
      if (this.bytes === 0) unlinkSync(this.file.path);
      return true;
    } catch {
      return false;
    }
  }

  #sync(): void {
    if (this.#syncing) return;
    this.#syncing = true;
    const group = this.#unsynced;
    const bytes = this.bytes;
    this.#unsynced = [];
    this.#disk.fdatasync(this.#descriptor, (error) => {
      if (error || this.#nameIsDurable) return this.#synced(group, bytes, error);
      syncFolder(dirname(this.file.path)).then(
        () => this.#synced(group, bytes, null),
        (problem: Error) => this.#synced(group, bytes, problem),
      );
    });
  }

  #synced(group: readonly LogLine[], bytes: number, error: Error | null): void {
    this.#syncing = false;
    if (error) this.#onSyncFailed(this, error, [...group, ...this.#unsynced.splice(0)]);
    else {
      this.#nameIsDurable = true;
      this.#durableBytes = bytes;
      for (const { durable } of group) durable?.resolve();
      if (this.#unsynced.length > 0) this.#sync();
    }
    if (this.#ended) this.end();
  }
}
