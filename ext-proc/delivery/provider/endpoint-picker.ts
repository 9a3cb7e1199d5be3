import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { backOffMs } from '#core/retry/back-off.ts';
import { bytesOf } from '../../fairness/bytes-of.ts';
import type { PickResult } from '../../telemetry/provider-attempt-metrics.ts';
import { type PickerAnswer, pickerAnswer, pickerRequest } from './picker-messages.ts';

const PROCESS = {
  ':method': 'POST',
  ':path': '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
  'content-type': 'application/grpc',
  te: 'trailers',
};
const WITHIN_MS = 1_000;
/** A picker that failed is not queried for this long, then by one request. */
const REST = { firstMs: 1_000, longestMs: 30_000 };
/** Pickers may need longer for a larger body: its failure shows nothing about other requests. */
const TELLING_BYTES = 1024 * 1024;
const PREFIX_BYTES = 5;
const MAX_MESSAGE_BYTES = 64 * 1024;

type PickedProvider = { readonly name: string; readonly endpointPicker: URL };
type Answer = PickerAnswer | { readonly kind: 'unavailable' };

export interface PickerEvents {
  /** Called for each request. */
  onResult(provider: string, result: PickResult): void;
  /** A picker has begun to fail, for this reason, or works again. */
  onChange(picker: string, problem?: string): void;
}

/** By origin of the picker. */
type Sessions = Map<string, ClientHttp2Session>;

export interface Pick {
  readonly answer: Answer;
  /** Tells the picker that the response is over. */
  done(): void;
}

const NONE: Pick = { answer: { kind: 'unavailable' }, done: () => {} };

interface Failing {
  readonly failures: number;
  restsUntilMs: number;
}

/** Queries pickers for the endpoint of a request. Envoy chooses if a picker is late. */
export class EndpointPickers {
  readonly #sessions: Sessions = new Map();
  /** Connections of their own, so that large bodies hold up no other. */
  readonly #largeSessions: Sessions = new Map();
  readonly #failing = new Map<string, Failing>();
  readonly #nowMs: () => number;
  readonly #events: PickerEvents | undefined;

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number, events?: PickerEvents) {
    this.#nowMs = nowMs;
    this.#events = events;
  }

  async pick(
    { name, endpointPicker: { origin } }: PickedProvider,
    path: string,
    body: readonly Buffer[],
  ): Promise<Pick> {
    const pick = await this.#query(origin, path, body);
    this.#events?.onResult(name, pick.answer.kind);
    return pick;
  }

  async #query(origin: string, path: string, body: readonly Buffer[]): Promise<Pick> {
    const failing = this.#failing.get(origin);
    const isTelling = bytesOf(body) <= TELLING_BYTES;
    if (failing !== undefined) {
      if (failing.restsUntilMs > this.#nowMs()) return NONE;
      if (isTelling) failing.restsUntilMs = this.#nowMs() + WITHIN_MS;
    }
    const sessions = isTelling ? this.#sessions : this.#largeSessions;
    const session = openSession(sessions, origin);
    let stream: ClientHttp2Stream | undefined;
    try {
      stream = session.request(PROCESS);
      const answered = firstMessage(stream);
      for (const message of pickerRequest(path, body)) stream.write(message);
      const answer = pickerAnswer(await answered);
      if (failing !== undefined && this.#failing.delete(origin)) this.#events?.onChange(origin);
      // Discards the further messages, in which the picker repeats the body.
      stream.resume();
      const open = stream;
      return { answer, done: () => void open.end() };
    } catch (error) {
      stream?.destroy();
      leave(sessions, origin, session);
      if (isTelling) this.#fail(origin, failing, error);
      return NONE;
    }
  }

  /** Of several requests that fail together, the first one counts. */
  #fail(origin: string, before: Failing | undefined, error: unknown): void {
    if (this.#failing.get(origin) !== before) return;
    const failures = (before?.failures ?? 0) + 1;
    this.#failing.set(origin, { failures, restsUntilMs: this.#nowMs() + backOffMs(failures, REST) });
    if (before === undefined) this.#events?.onChange(origin, (error as Error).message);
  }

  close(): void {
    for (const sessions of [this.#sessions, this.#largeSessions]) {
      for (const session of sessions.values()) session.destroy();
      sessions.clear();
    }
  }
}

/** Drops a session whose connection may be dead. The next request opens another. */
function leave(sessions: Sessions, origin: string, session: ClientHttp2Session): void {
  if (sessions.get(origin) === session) sessions.delete(origin);
  session.close();
}

function openSession(sessions: Sessions, origin: string): ClientHttp2Session {
  const known = sessions.get(origin);
  if (known !== undefined && !known.closed && !known.destroyed) return known;
  const session = connect(origin);
  session.on('error', () => {});
  session.unref();
  sessions.set(origin, session);
  return session;
}

/** Resolves with the first gRPC message. Rejects if it is late or too long. */
function firstMessage(stream: ClientHttp2Stream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const fail = (why: string) => reject(new Error(why));
    const tooLate = setTimeout(fail, WITHIN_MS, 'no answer in time');
    const over = () => {
      clearTimeout(tooLate);
      fail('it ended');
    };
    stream.on('error', reject);
    stream.once('close', over);
    stream.on('data', function collect(bytes: Buffer) {
      read = Buffer.concat([read, bytes]);
      const length = read.length < PREFIX_BYTES ? undefined : read.readUInt32BE(1);
      if (length !== undefined && (length > MAX_MESSAGE_BYTES || read[0] !== 0)) return over();
      if (length === undefined || read.length < PREFIX_BYTES + length) return;
      clearTimeout(tooLate);
      stream.off('data', collect);
      stream.off('close', over);
      resolve(read.subarray(PREFIX_BYTES, PREFIX_BYTES + length));
    });
  });
}
