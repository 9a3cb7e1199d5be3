import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * A file that is only added to, and never synced: what was written outlives the process, however
 * that ends, and not the machine. Synchronous, because a small write into the page cache takes less
 * time than handing it to another thread.
 */
export class AppendFile {
  #descriptor: number;
  #bytes = 0;
  /** The last write may have left half a line. */
  #torn = true;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /** Written by this object. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws when the disk does not take it, or not all of it. */
  append(lines: string): void {
    const buffer = Buffer.from(this.#torn ? `\n${lines}` : lines);
    this.#torn = true;
    for (let at = 0; at < buffer.length; ) at += writeSync(this.#descriptor, buffer, at);
    this.#torn = false;
    this.#bytes += buffer.length;
  }

  close(): void {
    if (this.#descriptor >= 0) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}
