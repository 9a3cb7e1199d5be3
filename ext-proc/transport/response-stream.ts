import type { ServerResponse } from 'node:http';
import type { ResponseHead, ResponseStream } from './exchange.ts';

/** An answer written piece by piece to Envoy over HTTP, which slows us down to what the client reads. */
export class HttpResponseStream implements ResponseStream {
  readonly #response: ServerResponse;
  readonly #onClosed: (complete: boolean) => void;
  readonly #closed: Promise<void>;

  /** `onClosed` is called once, when nothing more can be written; `complete` says whether all of it was handed on. */
  constructor(response: ServerResponse, head: ResponseHead, onClosed: (complete: boolean) => void) {
    this.#response = response;
    this.#onClosed = onClosed;
    this.#closed = new Promise((resolve) => {
      response.once('close', () => {
        this.#onClosed(response.writableFinished);
        resolve();
      });
    });
    response.sendDate = false;
    response.writeHead(head.status, head.headers);
    // The head goes out with the first piece if there is one in this turn, else by itself.
    setImmediate(() => {
      if (!response.destroyed && !response.writableEnded) response.flushHeaders();
    });
  }

  /** False after the client left, too: a loop that writes for as long as there is room must not run for ever. */
  write(bytes: Uint8Array): boolean {
    if (this.#response.destroyed || this.#response.writableEnded) return false;
    return this.#response.write(bytes);
  }

  drained(): Promise<void> {
    if (this.#response.destroyed || !this.#response.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#response.off('drain', done);
        this.#response.off('close', done);
        resolve();
      };
      this.#response.once('drain', done);
      this.#response.once('close', done);
    });
  }

  async end(bytes?: Uint8Array): Promise<void> {
    if (!this.#response.destroyed && !this.#response.writableEnded) {
      if (bytes === undefined) this.#response.end();
      else this.#response.end(bytes);
    }
    await this.#closed;
  }

  abort(): void {
    this.#response.destroy();
  }
}
