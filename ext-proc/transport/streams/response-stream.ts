import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';

/** A head that Node will write as it is. */
export interface CheckedHead {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/**
 * `headers` have lower-case names. A `content-length` is held to; without one the body is written
 * in chunks. Throws if a name or value is invalid: a bug, found before the request is routed.
 */
export function checkHead(
  status: number,
  headers: Readonly<Record<string, string>>,
  onEveryResponse: readonly string[],
): CheckedHead {
  const list = [...onEveryResponse];
  for (const name in headers) {
    const value = headers[name] ?? '';
    validateHeaderName(name);
    validateHeaderValue(name, value);
    list.push(name, value);
  }
  return { status, headers: list };
}

/**
 * A response written piece by piece to Envoy over HTTP/1.1, which slows us down to what the client
 * reads.
 */
export class HttpResponseStream {
  readonly #response: ServerResponse;
  #drained: PromiseWithResolvers<void> | undefined;
  #hasWritten = false;
  readonly #closed = Promise.withResolvers<void>();

  /**
   * Calls `onClosed` once, when nothing more can be written; `complete`: all of it was handed to
   * the socket.
   */
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
    // The head goes out with the first piece if there is one in this turn, else by itself. Behind a
    // piece, `flushHeaders` would write nothing, in a system call of its own.
    setImmediate(() => {
      if (!this.#hasWritten && !this.#isOver()) response.flushHeaders();
    });
  }

  /**
   * Writes text as UTF-8. False: wait for `drained`; also after the end, so that no loop writes on
   * and on.
   */
  write(piece: Uint8Array | string): boolean {
    if (this.#isOver()) return false;
    this.#hasWritten = true;
    return this.#response.write(piece);
  }

  /** True while the socket has not taken all that was written. */
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
   * Resolves when all of it was handed to the socket, or the connection is lost. Throws if the body
   * is not as long as the head says.
   */
  end(bytes?: Uint8Array): Promise<void> {
    if (!this.#isOver()) {
      if (bytes === undefined) this.#response.end();
      else this.#response.end(bytes);
    }
    return this.#closed.promise;
  }

  /**
   * Cuts the response visibly. Does nothing after all of it was handed to the socket: the
   * connection may have another response.
   */
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
