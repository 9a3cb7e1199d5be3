import type { MemoryReservation } from '../fairness/shared-budget.ts';

/**
 * One client request as the rest of the gateway sees it. Nothing behind this interface knows Envoy,
 * ext_proc or gRPC: admission, delivery and endpoints can be run in a test with a plain object, and
 * the transport can be replaced.
 */
export interface Exchange {
  /** Envoy's x-request-id. */
  readonly requestId: string;
  readonly method: string;
  /** Path and query exactly as sent. */
  readonly path: string;
  /** Address of the socket's peer without port; empty when there is none. */
  readonly peerAddress: string;
  /**
   * Value of a header by its lower-case name. Repeated headers are joined with `, `. After
   * `readBody` only the headers in `READ_WITH_BODY` may be read (`ext-proc/request-head.ts`).
   */
  header(name: string): string | undefined;
  /** Reads the request body once. Never rejects. */
  readBody(bounds: BodyBounds): Promise<BodyResult>;
  /** Memory of the body, held until the reader releases it or the request ends. */
  readonly bodyMemory: MemoryReservation;
  /**
   * Sends a whole response. At most one of `respond` and `openStream` is called, once. Resolves
   * when Envoy has it, or the client is gone.
   */
  respond(response: WholeResponse): Promise<void>;
  /** Begins a response in pieces, with back-pressure. `undefined`: the client left first. */
  openStream(head: ResponseHead): Promise<ResponseStream | undefined>;
  /** Aborted when the client left before the response was complete. */
  readonly gone: AbortSignal;
}

export interface BodyBounds {
  /** The organization to whose share of the memory the body belongs. */
  readonly organizationId: string;
  readonly limitBytes: number;
  /** Unfinished uploads that the organization may have, this one among them. */
  readonly mostUploads: number;
  /** Longest time for each further 10 KiB, and for the rest. */
  readonly stallMs: number;
  readonly totalMs: number;
}

export type BodyResult =
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  /** Known as soon as content-length or the bytes so far exceed the limit. */
  | { readonly kind: 'too_large' }
  /** The upload stalled, lasted too long, or was ended to make room for others. */
  | { readonly kind: 'timeout' }
  /** The organization has its share of unfinished uploads. */
  | { readonly kind: 'too_many' }
  /** The memory for bodies, or the organization's share of it, is full, or the process ends. */
  | { readonly kind: 'no_memory' }
  | { readonly kind: 'gone' };

export interface ResponseHead {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface WholeResponse extends ResponseHead {
  readonly body: Buffer;
}

export interface ResponseStream {
  /**
   * Writes bytes, or text as UTF-8. False: the buffer is full, so wait for `drained` before writing
   * more. Writing after the client left does nothing.
   */
  write(piece: Uint8Array | string): boolean;
  /** Resolves when there is room again, or the client is gone. */
  drained(): Promise<void>;
  /** True while bytes wait in this process, because the client reads too slowly. */
  readonly hasUnsent: boolean;
  /** Ends the response cleanly. Resolves when all of it was handed on, or the client is gone. */
  end(bytes?: Uint8Array): Promise<void>;
  /** Cuts a response that its client has not read in time. May be repeated, even after `end`. */
  abort(): void;
}

/** Called once, when the headers arrived. It must respond; a rejection is an `internal_error`. */
export type ExchangeHandler = (exchange: Exchange) => Promise<void>;
