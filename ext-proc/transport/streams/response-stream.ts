import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import { ON_EVERY_RESPONSE } from '../ext-proc/replies.ts';

/** A head that Node will write unchanged. */
export interface CheckedHead {
  readonly status: number;
  /** Alternating names and values. */
  readonly headers: readonly string[];
}

/**
 * `headers` have lower-case names. A `content-length` is enforced. Without one the body is written
 * in chunks. Throws if a name or value is invalid, so that this bug shows before the request is
 * routed.
 */
export function checkHead(status: number, headers: Readonly<Record<string, string>>): CheckedHead {
  const list = [...ON_EVERY_RESPONSE];
  for (const name in headers) {
    const value = headers[name] ?? '';
    validateHeaderName(name);
    validateHeaderValue(name, value);
    list.push(name, value);
  }
  return { status, headers: list };
}

/**
 * A response that is written piece by piece to Envoy over HTTP/1.1, whose back-pressure slows us
 * down to the client's pace.
 */
export class HttpResponseStream {
  readonly #response: ServerResponse;
  #drained: PromiseWithResolvers<void> | undefined;
  #hasWritten = false;
  readonly #closed = Promise.withResolvers<void>();

  /** Calls `onClosed` once, when writing has ended. `complete`: all was handed to the socket. */
  constructor(response: ServerResponse, { status, headers }: CheckedHead, onClosed: (complete: boolean) => void) {
    this.#response = response;
    response.sendDate = false;
    response.strictContentLength = true;
    response.writeHead(status, headers as string[]);
    response.on('drain', () => this.#onDrain());
    response.once('close', () => {
      this.#onDrain();
      this.#closed.resolve();
      onClosed(response.writableFinished);
    });
    // The head is written with the first piece if there is one in this turn, else by itself. After
    // a piece, `flushHeaders` would make a system call that writes nothing.
    setImmediate(() => {
      if (!this.#hasWritten && !this.#isOver()) response.flushHeaders();
    });
  }

  /** Writes bytes, or text as UTF-8. False: wait for `drained`, or it is over: stop writing. */
  write(piece: Uint8Array | string): boolean {
    if (this.#isOver()) return false;
    this.#hasWritten = true;
    return this.#response.write(piece);
  }

  /** True while the socket has not accepted everything that was written. */
  get hasUnsent(): boolean {
    return this.#response.writableLength > 0;
  }

  /** Resolves when there is room again, or nothing more can be written. */
  drained(): Promise<void> {
    if (this.#isOver() || !this.#response.writableNeedDrain) return Promise.resolve();
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /**
   * Ends the response. Resolves when all of it was handed to the socket, or the connection is lost.
   * Throws if the body is not as long as the head says.
   */
  end(bytes?: Uint8Array): Promise<void> {
    if (!this.#isOver()) {
      if (bytes === undefined) this.#response.end();
      else this.#response.end(bytes);
    }
    return this.#closed.promise;
  }

  /** Cuts the response visibly, unless all was handed over: the connection may have another. */
  abort(): void {
    this.#response.destroy();
  }

  #isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  #onDrain(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}
