import type { IncomingMessage } from 'node:http';
import type { Bound, Holder } from './bound.ts';
import { type Problem, problem } from './problem.ts';
import type { AppContext } from './responses.ts';

/**
 * Request bodies are read as they arrive, within shared bounds. When a bound is reached, the oldest
 * unfinished body is evicted. Bodies from the page and from Stripe arrive within moments, so the
 * oldest has stalled, even if single bytes still arrive.
 */
export interface BodyBounds {
  /** Bound of one body. */
  readonly mostBytes: number;
  /** Bound of all bodies together. */
  readonly memory: Bound;
  /** A slot for each body of this kind, taken before the body is read. */
  readonly places?: Bound;
}

/**
 * Reads the whole body. Its memory and slot are freed when the response has ended. Responses to
 * other requests cannot delay that (listen.ts). `owner`: whose share of the memory it uses. Rejects
 * if the client leaves.
 */
export async function readBody(context: AppContext, bounds: BodyBounds, owner?: string): Promise<Buffer | Problem> {
  const { incoming, outgoing } = context.env;
  if (declaresMore(incoming, bounds)) return refuseBody(context, bounds, TOO_LARGE);
  const upload = new Upload(incoming, bounds, owner);
  outgoing.once('close', () => upload.release());
  const read = await upload.read();
  return Buffer.isBuffer(read) ? read : refuseBody(context, bounds, read);
}

/** Refuses the body without reading it. Closes the connection, so that no more of it arrives. */
export function refuseBody(context: AppContext, bounds: BodyBounds, why: Problem): Problem {
  context.header('connection', 'close');
  return declaresMore(context.env.incoming, bounds) ? TOO_LARGE : why;
}

function declaresMore({ headers }: IncomingMessage, { mostBytes }: BodyBounds): boolean {
  return Number(headers['content-length'] ?? 0) > mostBytes;
}

class Upload implements Holder {
  readonly owner: string | undefined;
  readonly #incoming: IncomingMessage;
  readonly #bounds: BodyBounds;
  readonly #done = Promise.withResolvers<Buffer | Problem>();
  #buffer = Buffer.alloc(0);
  #size = 0;
  #hasPlace = false;

  constructor(incoming: IncomingMessage, bounds: BodyBounds, owner: string | undefined) {
    this.owner = owner;
    this.#incoming = incoming;
    this.#bounds = bounds;
  }

  read(): Promise<Buffer | Problem> {
    const { places } = this.#bounds;
    const why = places?.take(this, 1);
    this.#hasPlace = why === undefined;
    if (this.#incoming.destroyed && !this.#incoming.readableEnded) this.#leave();
    else if (why !== undefined) this.#refuse(why);
    else this.#incoming.on('data', this.#take).once('end', this.#end).once('close', this.#leave);
    return this.#done.promise;
  }

  /** Evicts this body in favour of others. */
  giveWay(why: Problem): void {
    this.#refuse(why);
  }

  release(): void {
    const { memory, places } = this.#bounds;
    memory.release(this, this.#buffer.length);
    if (this.#hasPlace) places?.release(this, 1);
    this.#hasPlace = false;
    this.#buffer = Buffer.alloc(0);
    this.#stop();
  }

  readonly #take = (piece: Buffer): void => {
    const size = this.#size + piece.length;
    const why = size > this.#buffer.length ? this.#grow(size) : undefined;
    if (why !== undefined) this.#refuse(why);
    else {
      piece.copy(this.#buffer, this.#size);
      this.#size = size;
    }
  };

  /**
   * Pieces are copied into one buffer, because a piece of one byte would use a hundred bytes.
   * Memory grows with what has arrived, since declaring a large body costs its sender nothing.
   */
  #grow(size: number): Problem | undefined {
    const { mostBytes, memory } = this.#bounds;
    if (size > mostBytes) return TOO_LARGE;
    const most = Number(this.#incoming.headers['content-length'] ?? mostBytes);
    const length = Math.min(most, Math.max(size, 2 * this.#buffer.length));
    const why = memory.take(this, length - this.#buffer.length);
    if (why !== undefined) return why;
    const grown = Buffer.allocUnsafeSlow(length);
    this.#buffer.copy(grown, 0, 0, this.#size);
    this.#buffer = grown;
    return undefined;
  }

  readonly #end = (): void => {
    const { memory, places } = this.#bounds;
    memory.finish(this);
    places?.finish(this);
    this.#stop();
    this.#done.resolve(this.#buffer.subarray(0, this.#size));
  };

  readonly #leave = (): void => this.#done.reject(new Error('the client left before the end of the body'));

  #refuse(why: Problem): void {
    this.release();
    this.#done.resolve(why);
  }

  #stop(): void {
    this.#incoming.off('data', this.#take).off('end', this.#end).off('close', this.#leave);
  }
}

const TOO_LARGE = problem('too_large', 'The request is too large.');
