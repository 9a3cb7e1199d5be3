import type { Room, SharedBudget } from '../shared-budget/shared-budget.ts';
import type { BodyPiece } from './body-message.ts';
import type { Answer, BodyBounds, BodyResult, Exchange, ResponseHead, ResponseStream } from './exchange.ts';
import { type ProcessingPeer, type ProcessingStream, STATUS_FAULT } from './ext-proc-server.ts';
import { ACCEPT_TRAILERS, END_OF_ANSWER, inPlaceAnswer, NO_BODY, routeToStream } from './replies.ts';
import { RequestBody } from './request-body.ts';
import type { RequestHead } from './request-head.ts';
import { encodeHead } from './response-head.ts';
import type { HttpResponseStream } from './response-stream.ts';
import type { StreamListener } from './stream-listener.ts';

/** An answer on the ext_proc stream has no back-pressure: Envoy buffers what the client does not read (DESIGN 8). */
const IN_PLACE_LIMIT_BYTES = 256 * 1024;

/**
 * An answer that is given before the request's body is here keeps its end back until the body ended, or for this long. With the end,
 * Envoy resets the upload; over HTTP/2 in the same packet as the answer, and then curl 7.88 and Node's client never show it.
 */
const LINGER_MS = 200;

export interface ExchangeSurroundings {
  readonly budget: SharedBudget;
  readonly streams: StreamListener;
  readonly streamClusterName: string;
  /** How long an exchange may last. */
  deadlineMs(): number;
  /** The headers are here. */
  onBegin(exchange: ExtProcExchange): void;
  /** Handler, ext_proc stream and response are all over. */
  onDone(exchange: ExtProcExchange): void;
}

/** `open`: not answered yet. `in_place`: answered on the ext_proc stream. `routed`: answered on the stream listener. */
type State = 'open' | 'in_place' | 'routed' | 'gone';

/** One request: Envoy's ext_proc stream on one side, the Exchange that the gateway sees on the other. */
export class ExtProcExchange implements Exchange, ProcessingPeer {
  readonly startedAtMs = performance.now();
  readonly #stream: ProcessingStream;
  readonly #around: ExchangeSurroundings;
  #head: RequestHead | undefined;
  #body: RequestBody | undefined;
  #state: State = 'open';
  /** The deadline passed: what the handler still does is ignored. */
  #expired = false;
  #bodyEnded = false;
  #trailersWaiting = false;
  #streamId: string | undefined;
  #response: HttpResponseStream | undefined;
  #controller: AbortController | undefined;
  /** Runs while an answer is complete but for its end, because the request's body is still coming. */
  #linger: NodeJS.Timeout | undefined;
  #onEnvoyDone: (() => void) | undefined;
  #envoyDone = false;
  /** Parts that are not over: the ext_proc stream; then the handler, and the routed response. */
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

  /** More or longer headers than the gateway takes. */
  get oversized(): boolean {
    return this.#head?.oversized === true;
  }

  get hasOneHost(): boolean {
    return this.#head?.hasOneHost === true;
  }

  get gone(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state === 'gone' || this.#expired) this.#controller.abort();
    return this.#controller.signal;
  }

  get answered(): boolean {
    return this.#state !== 'open';
  }

  header(name: string): string | undefined {
    return this.#head?.header(name);
  }

  readBody(bounds: BodyBounds): Promise<BodyResult> {
    if (this.#body === undefined) return Promise.resolve({ kind: 'gone' });
    this.#body.room.belongsTo(bounds.organizationId);
    // What came while the stream was paused is mostly all of it, and then there is nothing to wait for.
    this.#stream.resume();
    const result = this.#body.read(bounds);
    this.#stream.resume();
    return result;
  }

  get bodyRoom(): Room {
    return this.#begunBody().room;
  }

  async respond(answer: Answer): Promise<void> {
    if (!this.#mayAnswer()) return;
    // The answer to HEAD has no body, however large the one it tells of.
    if (answer.body.length > IN_PLACE_LIMIT_BYTES && this.method !== 'HEAD') {
      const headers = { ...answer.headers, 'content-length': String(answer.body.length) };
      const stream = await this.openStream({ status: answer.status, headers });
      await stream?.end(answer.body);
      return;
    }
    this.#state = 'in_place';
    this.#body?.discard();
    this.#stream.write(inPlaceAnswer(answer, this.method, this.#bodyEnded));
    if (!this.#bodyEnded) this.#linger = setTimeout(() => this.#endAnswer(), LINGER_MS);
    // Nothing else is wanted of the request, but its end must be seen.
    this.#stream.resume();
    if (this.#envoyDone) return;
    await new Promise<void>((resolve) => {
      this.#onEnvoyDone = resolve;
    });
  }

  openStream(head: ResponseHead): Promise<ResponseStream | undefined> {
    if (!this.#mayAnswer()) return Promise.resolve(undefined);
    const encodedHead = encodeHead(head);
    this.#state = 'routed';
    this.#body?.abandon();
    this.#openParts++;
    return new Promise((resolve) => {
      const id = this.#around.streams.expect((connection) => {
        this.#streamId = undefined;
        if (connection === undefined) {
          this.#leave();
          this.#partOver();
          resolve(undefined);
          return;
        }
        this.#response = connection.answer(encodedHead, (complete) => {
          if (!complete) this.#leave();
          this.#partOver();
        });
        resolve(this.#response);
      });
      this.#streamId = id;
      const withinMs = this.#around.deadlineMs() - (performance.now() - this.startedAtMs);
      this.#stream.write(routeToStream(id, this.#around.streamClusterName, this.#head?.headerNames() ?? [], withinMs));
      if (this.#head?.bodiless !== true) this.#stream.write(NO_BODY);
      if (this.#trailersWaiting) this.#stream.write(ACCEPT_TRAILERS);
      this.#stream.resume();
    });
  }

  receiveHead(head: RequestHead): void {
    if (this.#head !== undefined) throw new Error('ext_proc: second request_headers on one stream');
    this.#head = head;
    this.#body = new RequestBody(this.#around.budget, head.declaredBytes);
    if (head.bodiless) this.#endBody();
    else this.#stream.pause();
    this.#openParts++;
    this.#around.onBegin(this);
  }

  receiveBody({ bytes, start, end, endOfStream }: BodyPiece): void {
    const body = this.#begunBody();
    body.push(bytes, start, end);
    if (endOfStream) this.#endBody();
    else if (!body.wantsMore && this.#state === 'open') this.#stream.pause();
  }

  receiveTrailers(): void {
    this.#begunBody();
    this.#endBody();
    if (this.#state === 'routed') this.#stream.write(ACCEPT_TRAILERS);
    else this.#trailersWaiting = true;
  }

  ended(): boolean {
    if (this.#state === 'open') this.#leave();
    if (this.#streamId !== undefined) this.#around.streams.expectSoon(this.#streamId);
    this.#finishInPlace();
    return this.#state === 'in_place' || this.#state === 'routed';
  }

  closed(): void {
    if (this.#state === 'open') this.#leave();
    if (this.#streamId !== undefined) this.#around.streams.expectSoon(this.#streamId);
    this.#finishInPlace();
    this.#partOver();
  }

  /** The handler has settled: the body's bytes are free. */
  handled(): void {
    this.#body?.discard();
    this.#partOver();
  }

  /** The process ends: who has not sent the whole request is not waited for. */
  endUpload(): void {
    this.#body?.end();
  }

  /**
   * The exchange has lasted too long: the client gets this answer if it has none, whoever works on it is told to stop, and cannot answer
   * any more. Repeated for as long as anything is left: an answer that Envoy did not take by then is given up.
   */
  expire(answer: Answer): void {
    if (this.#state === 'open') void this.respond(answer);
    else if (this.#state === 'routed') this.cut();
    else if (this.#state === 'in_place') this.#stream.fail(STATUS_FAULT);
    this.#expired = true;
    this.#controller?.abort();
    this.#body?.abandon();
  }

  get expired(): boolean {
    return this.#expired;
  }

  /** Ends a begun answer visibly incomplete; a request without one is refused by Envoy. */
  cut(): void {
    if (this.#streamId !== undefined) this.#around.streams.forget(this.#streamId);
    this.#response?.abort();
    if (this.#state === 'open') this.#stream.fail(STATUS_FAULT);
  }

  #mayAnswer(): boolean {
    if (this.#state === 'gone' || this.#expired) return false;
    if (this.#state !== 'open') throw new Error('exchange answered twice');
    return true;
  }

  #begunBody(): RequestBody {
    if (this.#body === undefined) throw new Error('ext_proc: the first message is not request_headers');
    return this.#body;
  }

  #endBody(): void {
    this.#bodyEnded = true;
    if (this.#linger !== undefined) this.#endAnswer();
    this.#body?.finish();
  }

  #endAnswer(): void {
    clearTimeout(this.#linger);
    this.#linger = undefined;
    this.#stream.write(END_OF_ANSWER);
  }

  #finishInPlace(): void {
    clearTimeout(this.#linger);
    this.#linger = undefined;
    this.#envoyDone = true;
    this.#onEnvoyDone?.();
  }

  #leave(): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#controller?.abort();
    this.#body?.abandon();
  }

  #partOver(): void {
    this.#openParts--;
    if (this.#openParts === 0) this.#around.onDone(this);
  }
}
