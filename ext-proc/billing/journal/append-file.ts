import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * File that is appended to and never synced: its content survives the process, not the machine.
 * Synchronous, because a small write into the page cache takes less time than handing it to another
 * thread.
 */
export class AppendFile {
  #descriptor: number;
  #bytes = 0;
  /** True if the last write may have left half a line. */
  #torn = true;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /** Bytes written by this object. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Appends lines. Throws if the disk does not take all of them. */
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
