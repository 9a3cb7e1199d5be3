import type { Socket } from 'node:net';
import type { EncodedHead } from './response-head.ts';
import { HttpResponseStream } from './response-stream.ts';
import { StreamRequestReader } from './stream-request.ts';

/**
 * A connection of Envoy's to the stream listener: requests one after another, each looked at when the one before is answered. It has no
 * time-outs: Envoy closes idle connections first, and one that we closed could meet a request on its way.
 */
export class StreamConnection {
  readonly #socket: Socket;
  readonly #reader: StreamRequestReader;
  readonly #onRequest: (streamId: string) => void;
  /** A request was handed on, and its answer is not over. */
  #busy = false;
  #response: HttpResponseStream | undefined;

  /** `onRequest` is called for each request, which must call `answer`. */
  constructor(socket: Socket, idHeader: string, onRequest: (streamId: string) => void, onClosed: () => void) {
    this.#socket = socket;
    this.#reader = new StreamRequestReader(idHeader);
    this.#onRequest = onRequest;
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('drain', () => this.#response?.onDrain());
    // Envoy never closes one half: it has left, and would not read the rest.
    socket.on('end', () => socket.destroy());
    // `close` follows, and is all that matters.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#response?.onGone();
      onClosed();
    });
  }

  /** Begins the answer to the request just handed on. `onClosed` is called once, see HttpResponseStream. */
  answer(head: EncodedHead, onClosed: (complete: boolean) => void): HttpResponseStream {
    this.#response = new HttpResponseStream(this.#socket, head, (complete) => {
      this.#response = undefined;
      this.#busy = false;
      onClosed(complete);
      if (complete) this.#serveNext();
    });
    return this.#response;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    this.#reader.push(bytes);
    this.#serveNext();
  }

  #serveNext(): void {
    const streamId = this.#busy ? undefined : this.#reader.next();
    if (this.#reader.malformed) this.#socket.destroy();
    else if (streamId !== undefined) {
      this.#busy = true;
      this.#onRequest(streamId);
    }
  }
}
