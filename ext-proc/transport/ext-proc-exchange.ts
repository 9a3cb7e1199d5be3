import type { MemoryReservation } from '../fairness/shared-budget.ts';
import type { BodyBounds, BodyResult, Exchange, ResponseHead, ResponseStream, WholeResponse } from './exchange.ts';
import { type ProcessingPeer, type ProcessingStream, STATUS_FAULT } from './ext-proc/ext-proc-server.ts';
import { ACCEPT_TRAILERS, END_OF_RESPONSE, inPlaceResponse, NO_BODY, routeToStream } from './ext-proc/replies.ts';
import type { RequestHead } from './ext-proc/request-head.ts';
import type { BodyPiece } from './ext-proc/request-message.ts';
import { type BodyRoom, RequestBody } from './request-body.ts';
import { GONE, type InPlace, OPEN, type ResponseState } from './response-state.ts';
import { checkHead, HttpResponseStream } from './streams/response-stream.ts';
import type { StreamListener } from './streams/stream-listener.ts';

/**
 * A response on the ext_proc stream has no back-pressure: Envoy buffers what the client does not
 * read, and resets it after `stream_flush_timeout` (envoy/envoy.yaml). This limit is the first
 * window of an HTTP/2 client (RFC 9113, "Initial Flow-Control Window Size").
 */
const IN_PLACE_LIMIT_BYTES = 65_535;

/**
 * If a response begins before the whole request has arrived, its end is held back until the body
 * has ended, or for this long. On the end, Envoy resets the upload. Over HTTP/2 the reset may be in
 * the same packet as the response, and then curl 7.88 and Node's client never show the response.
 */
const LINGER_MS = 200;

export interface ExchangeSurroundings extends BodyRoom {
  readonly streams: StreamListener;
  readonly streamClusterName: string;
  deadlineMs(): number;
  /** Called when the headers of the request have arrived. */
  onBegin(exchange: ExtProcExchange, head: RequestHead): void;
  /** Called when handler, ext_proc stream and response have all ended. */
  onDone(exchange: ExtProcExchange): void;
}

/** One request between Envoy's ext_proc stream and the Exchange that the gateway sees. */
export class ExtProcExchange implements Exchange, ProcessingPeer {
  readonly startedAtMs = performance.now();
  readonly #stream: ProcessingStream;
  readonly #around: ExchangeSurroundings;
  #head: RequestHead | undefined;
  #body: RequestBody | undefined;
  #state: ResponseState = OPEN;
  /** True after the deadline. The handler cannot respond any more. */
  #expired = false;
  #bodyEnded = false;
  /** True if the request's trailers have arrived, which must be accepted if it is routed. */
  #hasTrailers = false;
  #controller: AbortController | undefined;
  /** Parts that have not ended: the ext_proc stream, the handler, the response on its listener. */
  #openParts = 1;

  constructor(stream: ProcessingStream, around: ExchangeSurroundings) {
    this.#stream = stream;
    this.#around = around;
  }

  get requestId(): string {
    return this.#head?.requestId ?? '';
  }

  get method(): string {
    return this.#head?.method ?? '';
  }

  get path(): string {
    return this.#head?.path ?? '';
  }

  get peerAddress(): string {
    return this.#head?.peerAddress ?? '';
  }

  get gone(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state.kind === 'gone' || this.#expired) this.#controller.abort();
    return this.#controller.signal;
  }

  get hasResponded(): boolean {
    return this.#state.kind !== 'open';
  }

  header(name: string): string | undefined {
    return this.#head?.header(name);
  }

  readBody(bounds: BodyBounds): Promise<BodyResult> {
    if (this.#body === undefined) return Promise.resolve({ kind: 'gone' });
    this.#body.reservation.assignTo(bounds.organizationId);
    this.#head?.trim();
    // Usually the whole body has arrived while the stream was paused, so that nothing has to be
    // awaited.
    this.#stream.resume();
    const result = this.#body.read(bounds);
    this.#stream.resume();
    return result;
  }

  get bodyMemory(): MemoryReservation {
    return this.#begunBody().reservation;
  }

  async respond(response: WholeResponse): Promise<void> {
    if (!this.#mayRespond()) return;
    // A response to HEAD has no body, whatever its content-length.
    if (response.body.length > IN_PLACE_LIMIT_BYTES && this.method !== 'HEAD') {
      const headers = { ...response.headers, 'content-length': String(response.body.length) };
      const stream = await this.openStream({ status: response.status, headers });
      await stream?.end(response.body);
      return;
    }
    const inPlace: InPlace = { kind: 'in_place', ended: Promise.withResolvers(), linger: undefined };
    this.#state = inPlace;
    this.#body?.discard();
    this.#stream.write(inPlaceResponse(response, this.method, this.#bodyEnded));
    // In the same write, so that Envoy does not wake up again for the end.
    if (this.#bodyEnded) this.#stream.finish();
    else inPlace.linger = setTimeout(() => this.#endInPlace(inPlace), LINGER_MS);
    // The rest of the request is dropped, but its end must be seen.
    this.#stream.resume();
    await inPlace.ended.promise;
  }

  openStream(head: ResponseHead): Promise<ResponseStream | undefined> {
    if (!this.#mayRespond()) return Promise.resolve(undefined);
    const checkedHead = checkHead(head.status, head.headers);
    this.#body?.abandon();
    this.#openParts++;
    return new Promise((resolve) => {
      const streamId = this.#around.streams.expect((raw) => {
        if (raw === undefined) {
          this.#leave();
          this.#partOver();
          resolve(undefined);
          return;
        }
        const response = new HttpResponseStream(raw, checkedHead, (complete) => {
          if (!complete) this.#leave();
          this.#partOver();
        });
        this.#state = { kind: 'streaming', response };
        resolve(response);
      });
      this.#state = { kind: 'routing', streamId };
      const withinMs = this.#around.deadlineMs() - (performance.now() - this.startedAtMs);
      const clientHeaders = this.#head?.headerNames() ?? [];
      this.#stream.write(routeToStream(streamId, this.#around.streamClusterName, clientHeaders, withinMs));
      if (this.#head?.bodiless !== true) this.#stream.write(NO_BODY);
      if (this.#hasTrailers) this.#stream.write(ACCEPT_TRAILERS);
      this.#stream.resume();
    });
  }

  receiveHead(head: RequestHead): void {
    if (this.#head !== undefined) throw new Error('ext_proc: second request_headers on one stream');
    this.#head = head;
    this.#body = new RequestBody(this.#around, head);
    if (head.bodiless) this.#endBody();
    else this.#stream.pause();
    this.#openParts++;
    this.#around.onBegin(this, head);
  }

  receiveBody({ bytes, start, end, endOfStream }: BodyPiece): void {
    const body = this.#begunBody();
    body.push(bytes, start, end);
    if (endOfStream) this.#endBody();
    else if (!body.wantsMore && this.#state.kind === 'open') this.#stream.pause();
  }

  receiveTrailers(): void {
    this.#begunBody();
    this.#endBody();
    if (this.#isRouted()) this.#stream.write(ACCEPT_TRAILERS);
    else this.#hasTrailers = true;
  }

  ended(): boolean {
    this.#envoyEnded();
    return this.#state.kind === 'in_place' || this.#isRouted();
  }

  closed(): void {
    this.#envoyEnded();
    this.#partOver();
  }

  /** Called when the handler has settled. Frees the body's bytes. */
  handled(): void {
    this.#body?.discard();
    this.#partOver();
  }

  /** Refuses a request that has not arrived whole, because the process ends. */
  endUpload(): void {
    this.#body?.end();
  }

  /**
   * Ends an exchange that has lasted too long. The client gets this response if it has none. The
   * handler is aborted and cannot respond any more. A further call, while a part has not ended,
   * aborts a response that Envoy has not read.
   */
  expire(response: WholeResponse): void {
    if (this.#state.kind === 'open') void this.respond(response);
    else if (this.#state.kind === 'in_place') this.#stream.fail(STATUS_FAULT);
    else this.cut();
    this.#expired = true;
    this.#controller?.abort();
    this.#body?.abandon();
  }

  get expired(): boolean {
    return this.#expired;
  }

  /** Cuts a begun response, visibly for the client. Without one, Envoy refuses the request. */
  cut(): void {
    const state = this.#state;
    if (state.kind === 'routing') this.#around.streams.forget(state.streamId);
    else if (state.kind === 'streaming') state.response.abort();
    else if (state.kind === 'open') this.#stream.fail(STATUS_FAULT);
  }

  #isRouted(): boolean {
    return this.#state.kind === 'routing' || this.#state.kind === 'streaming';
  }

  #mayRespond(): boolean {
    if (this.#state.kind === 'gone' || this.#expired) return false;
    if (this.#state.kind !== 'open') throw new Error('exchange responded twice');
    return true;
  }

  #begunBody(): RequestBody {
    if (this.#body === undefined) throw new Error('ext_proc: the first message is not request_headers');
    return this.#body;
  }

  #endBody(): void {
    this.#bodyEnded = true;
    if (this.#state.kind === 'in_place' && this.#state.linger !== undefined) this.#endInPlace(this.#state);
    this.#body?.finish();
  }

  #endInPlace(inPlace: InPlace): void {
    clearTimeout(inPlace.linger);
    inPlace.linger = undefined;
    this.#stream.write(END_OF_RESPONSE);
  }

  /** The ext_proc stream has ended. A routed request now arrives soon or not at all. */
  #envoyEnded(): void {
    const state = this.#state;
    if (state.kind === 'open') this.#leave();
    else if (state.kind === 'routing') this.#around.streams.expectSoon(state.streamId);
    else if (state.kind === 'in_place') {
      clearTimeout(state.linger);
      state.linger = undefined;
      state.ended.resolve();
    }
  }

  #leave(): void {
    if (this.#state.kind === 'gone') return;
    this.#state = GONE;
    this.#controller?.abort();
    this.#body?.abandon();
  }

  #partOver(): void {
    this.#openParts--;
    if (this.#openParts === 0) this.#around.onDone(this);
  }
}
