import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { type PickerAnswer, pickerAnswer, pickerRequest } from './picker-messages.ts';

const PROCESS = {
  ':method': 'POST',
  ':path': '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
  'content-type': 'application/grpc',
  te: 'trailers',
};
const WITHIN_MS = 1_000;
/** A picker that failed is not queried for this long. */
const REST_MS = 1_000;
const PREFIX_BYTES = 5;
const MAX_MESSAGE_BYTES = 64 * 1024;

export interface Pick {
  readonly answer: PickerAnswer;
  /** Tells the picker that the response is over. */
  done(): void;
}

const NONE: Pick = { answer: { kind: 'unknown' }, done: () => {} };

/** Queries pickers for the endpoint of a request. Envoy chooses if a picker is late. */
export class EndpointPickers {
  readonly #sessions = new Map<string, ClientHttp2Session>();
  readonly #restsUntilMs = new Map<string, number>();

  async pick({ origin }: URL, path: string, body: readonly Buffer[]): Promise<Pick> {
    if ((this.#restsUntilMs.get(origin) ?? 0) > performance.now()) return NONE;
    const session = this.#session(origin);
    let stream: ClientHttp2Stream | undefined;
    try {
      stream = session.request(PROCESS);
      stream.on('error', () => {});
      const answered = firstMessage(stream);
      for (const message of pickerRequest(path, body)) stream.write(message);
      const answer = pickerAnswer(await answered);
      // Discards the further messages, in which the picker repeats the body.
      stream.resume();
      const open = stream;
      return { answer, done: () => void open.end() };
    } catch {
      stream?.destroy();
      this.#leave(origin, session);
      this.#restsUntilMs.set(origin, performance.now() + REST_MS);
      return NONE;
    }
  }

  close(): void {
    for (const session of this.#sessions.values()) session.destroy();
    this.#sessions.clear();
  }

  /** Drops a session whose connection may be dead. The next request opens another. */
  #leave(origin: string, session: ClientHttp2Session): void {
    if (this.#sessions.get(origin) === session) this.#sessions.delete(origin);
    session.close();
  }

  #session(origin: string): ClientHttp2Session {
    const known = this.#sessions.get(origin);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = connect(origin);
    session.on('error', () => {});
    session.unref();
    this.#sessions.set(origin, session);
    return session;
  }
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
