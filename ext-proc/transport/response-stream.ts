import type { Socket } from 'node:net';
import type { ResponseStream } from './exchange.ts';
import type { EncodedHead } from './response-head.ts';

/** Pieces up to this are copied, to lie together with what frames them. Larger ones are not: a kept answer has megabytes. */
const COPIED_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);

/** An answer written piece by piece to Envoy over HTTP/1.1, which slows us down to what the client reads. */
export class HttpResponseStream implements ResponseStream {
  readonly #socket: Socket;
  readonly #onClosed: (complete: boolean) => void;
  readonly #bodyBytes: number | undefined;
  #writtenBytes = 0;
  /** Goes out with the first piece if there is one in this turn, else by itself. */
  #head: string;
  #ended = false;
  #closed = false;
  #whenDrained: PromiseWithResolvers<void> | undefined;
  #whenClosed: PromiseWithResolvers<void> | undefined;

  /** `onClosed` is called once, when nothing more can be written; `complete` says whether all of it was handed on. */
  constructor(socket: Socket, head: EncodedHead, onClosed: (complete: boolean) => void) {
    this.#socket = socket;
    this.#onClosed = onClosed;
    this.#bodyBytes = head.bodyBytes;
    this.#head = head.text;
    setImmediate(() => {
      if (this.#head !== '' && !this.#isOver()) this.#send('', NOTHING, 0, '');
    });
  }

  /** False after the client left, too: a loop that writes for as long as there is room must not run for ever. */
  write(piece: Uint8Array | string): boolean {
    if (this.#isOver()) return false;
    if (piece.length === 0) return !this.#socket.writableNeedDrain;
    return this.#writeBody(piece, '');
  }

  drained(): Promise<void> {
    if (this.#isOver() || !this.#socket.writableNeedDrain) return Promise.resolve();
    this.#whenDrained ??= Promise.withResolvers();
    return this.#whenDrained.promise;
  }

  end(bytes: Uint8Array = NOTHING): Promise<void> {
    if (!this.#isOver()) {
      // What is missing would be taken from the next answer, and what is too much would be read as one.
      if (this.#bodyBytes !== undefined && this.#writtenBytes + bytes.length !== this.#bodyBytes)
        throw new Error(`a body of ${this.#writtenBytes + bytes.length} bytes, its head says ${this.#bodyBytes}`);
      this.#ended = true;
      this.#writeBody(bytes, '0\r\n\r\n', (error) => {
        if (!error) this.#close(true);
      });
    }
    if (this.#closed) return Promise.resolve();
    this.#whenClosed ??= Promise.withResolvers();
    return this.#whenClosed.promise;
  }

  abort(): void {
    // Once all was handed on, the connection may have another answer.
    if (!this.#closed) this.#socket.destroy();
  }

  /** The socket has room again. */
  onDrain(): void {
    this.#whenDrained?.resolve();
    this.#whenDrained = undefined;
  }

  /** The socket is gone. */
  onGone(): void {
    this.#close(false);
  }

  #isOver(): boolean {
    return this.#ended || this.#closed || this.#socket.destroyed;
  }

  #close(complete: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onDrain();
    this.#whenClosed?.resolve();
    this.#onClosed(complete);
  }

  #writeBody(piece: Uint8Array | string, lastChunk: string, onSent?: (error?: Error | null) => void): boolean {
    const pieceBytes = typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
    this.#writtenBytes += pieceBytes;
    if (this.#bodyBytes !== undefined) return this.#send('', piece, pieceBytes, '', onSent);
    if (pieceBytes === 0) return this.#send('', piece, 0, lastChunk, onSent);
    return this.#send(`${pieceBytes.toString(16)}\r\n`, piece, pieceBytes, `\r\n${lastChunk}`, onSent);
  }

  #send(
    before: string,
    piece: Uint8Array | string,
    pieceBytes: number,
    after: string,
    onSent?: (error?: Error | null) => void,
  ): boolean {
    const first = this.#head + before;
    this.#head = '';
    if (pieceBytes > COPIED_BYTES) {
      this.#socket.cork();
      this.#socket.write(first, 'latin1');
      // Outside V8's heap, where it may wait for long.
      this.#socket.write(typeof piece === 'string' ? Buffer.from(piece) : piece);
      const hasRoom = this.#socket.write(after, 'latin1', onSent);
      this.#socket.uncork();
      return hasRoom;
    }
    const joined = Buffer.allocUnsafe(first.length + pieceBytes + after.length);
    joined.write(first, 'latin1');
    if (typeof piece === 'string') joined.write(piece, first.length);
    else joined.set(piece, first.length);
    joined.write(after, first.length + pieceBytes, 'latin1');
    return this.#socket.write(joined, onSent);
  }
}
