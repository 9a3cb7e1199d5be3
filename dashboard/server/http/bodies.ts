import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Problem, problem, unavailable } from './problem.ts';
import type { AppContext } from './responses.ts';

/**
 * Bodies of requests: read as they arrive, within bounds that all of them share. When a bound is
 * reached, the oldest unfinished body gives way: bodies of the page and of Stripe arrive within
 * moments, so the oldest one has stalled, even if single bytes still arrive.
 */
export interface BodyBounds {
  /** For one body. */
  readonly mostBytes: number;
  /** For all of them together. */
  readonly memory: Bound;
  /** A place for each body of this kind, which is taken before the body is read. */
  readonly places?: Bound;
}

/** So much of something at once, of bodies that are read or that their requests work with. */
export class Bound {
  readonly #limit: number;
  #taken = 0;
  /** The one that began first is the first. */
  readonly #unfinished = new Set<Upload>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: what is taken belongs to whole bodies and this one. */
  take(upload: Upload, amount: number): boolean {
    this.#unfinished.add(upload);
    while (this.#taken + amount > this.#limit) {
      const [first] = this.#unfinished;
      if (first === undefined || first === upload) {
        this.#unfinished.delete(upload);
        return false;
      }
      // An upload is asked once, whatever it does.
      this.#unfinished.delete(first);
      first.giveWay();
    }
    this.#taken += amount;
    return true;
  }

  finish(upload: Upload): void {
    this.#unfinished.delete(upload);
  }

  release(upload: Upload, amount: number): void {
    this.#unfinished.delete(upload);
    this.#taken -= amount;
  }
}

const uploads = new WeakMap<ServerResponse, Upload>();

/**
 * The body, whole. Its memory and its place are free when `freeBody` is called, or when the
 * response has ended. Rejects where the client leaves.
 */
export async function readBody(context: AppContext, bounds: BodyBounds): Promise<Buffer | Problem> {
  const { incoming, outgoing } = context.env;
  if (declaresMore(incoming, bounds)) return refuseBody(context, bounds, TOO_LARGE);
  const upload = new Upload(incoming, bounds);
  uploads.set(outgoing, upload);
  outgoing.once('close', () => upload.release());
  const read = await upload.read();
  return Buffer.isBuffer(read) ? read : refuseBody(context, bounds, read);
}

/**
 * Called when nobody works with the body any more. The end of the response may be far: a client
 * need not read it.
 */
export function freeBody({ env: { outgoing } }: AppContext): void {
  uploads.get(outgoing)?.release();
}

/** Refuses it unread. The connection is closed, so that nothing more of it is taken. */
export function refuseBody(context: AppContext, bounds: BodyBounds, why: Problem): Problem {
  context.header('connection', 'close');
  return declaresMore(context.env.incoming, bounds) ? TOO_LARGE : why;
}

function declaresMore({ headers }: IncomingMessage, { mostBytes }: BodyBounds): boolean {
  return Number(headers['content-length'] ?? 0) > mostBytes;
}

class Upload {
  readonly #incoming: IncomingMessage;
  readonly #bounds: BodyBounds;
  readonly #done = Promise.withResolvers<Buffer | Problem>();
  #buffer = Buffer.alloc(0);
  #size = 0;
  #hasPlace = false;

  constructor(incoming: IncomingMessage, bounds: BodyBounds) {
    this.#incoming = incoming;
    this.#bounds = bounds;
  }

  read(): Promise<Buffer | Problem> {
    const { places } = this.#bounds;
    this.#hasPlace = places === undefined || places.take(this, 1);
    if (this.#incoming.destroyed && !this.#incoming.readableEnded) this.#leave();
    else if (this.#hasPlace) {
      this.#incoming.on('data', this.#take).once('end', this.#end).once('close', this.#leave);
    } else this.#refuse(BUSY);
    return this.#done.promise;
  }

  /** Others need what it has. */
  giveWay(): void {
    this.#refuse(BUSY);
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
    if (size > this.#bounds.mostBytes) this.#refuse(TOO_LARGE);
    else if (size > this.#buffer.length && !this.#grow(size)) this.#refuse(BUSY);
    else {
      piece.copy(this.#buffer, this.#size);
      this.#size = size;
    }
  };

  /** Pieces are copied into one buffer: a piece of one byte takes a hundred by itself. */
  #grow(size: number): boolean {
    const declared = Number(this.#incoming.headers['content-length'] ?? 0);
    const length = Math.min(this.#bounds.mostBytes, Math.max(size, declared, 2 * this.#buffer.length));
    if (!this.#bounds.memory.take(this, length - this.#buffer.length)) return false;
    const grown = Buffer.allocUnsafeSlow(length);
    this.#buffer.copy(grown, 0, 0, this.#size);
    this.#buffer = grown;
    return true;
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

const BUSY = unavailable('Too many requests at once.');
