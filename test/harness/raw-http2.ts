import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { rawFrame as frame, setting } from '#packages/http2-server/frames.fixture.ts';

/** Hand-written HTTP/2 frames, for bytes that no client library sends. */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const END_HEADERS = 4;
const ACK = 1;
const HEADER_BYTES = 9;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export { frame, setting };

export type Field = readonly [name: string, value: string];

/** HPACK literals without indexing: the fields arrive exactly as given, well-formed or not. */
export function headerBlock(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits (RFC 7541, section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

export interface RawHttp2 {
  readonly socket: Socket;
  send(...frames: readonly Buffer[]): void;
  /**
   * What the stream has received so far: status, body and end. `undefined` before the first frame.
   */
  answer(streamId: number): RawAnswer | undefined;
  /** Resolves when the stream has ended, or with `undefined` if the connection closed first. */
  ended(streamId: number): Promise<RawAnswer | undefined>;
  /** True after a GOAWAY. */
  dismissed(): boolean;
  readonly closed: Promise<void>;
}

export interface RawAnswer {
  body: Buffer;
  end: 'clean' | 'reset' | undefined;
}

export interface RawHttp2Options {
  /** Payload of the first SETTINGS frame. */
  readonly settings?: Buffer;
  /** The client's own address. The gateway takes another loopback address for another client. */
  readonly localAddress?: string;
}

/**
 * Opens a connection, acknowledges what HTTP/2 requires, and collects the response of each stream.
 * It never stops reading.
 */
export async function openRawHttp2(port: number, options: RawHttp2Options = {}): Promise<RawHttp2> {
  const { localAddress = '127.0.0.1' } = options;
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  await once(socket, 'connect');
  // The server closes the connection in the end, and tests check when.
  socket.on('error', () => undefined);
  const answers = new Map<number, RawAnswer>();
  const greeted = Promise.withResolvers<void>();
  const waiting = new Map<number, (answer: RawAnswer | undefined) => void>();
  let isDismissed = false;
  let unread = Buffer.alloc(0);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      for (const wake of waiting.values()) wake(undefined);
      resolve();
    });
  });
  const receive = (type: number, flags: number, streamId: number, payload: Buffer): void => {
    if (type === FRAME.settings && (flags & ACK) === 0) {
      socket.write(frame(FRAME.settings, ACK, 0));
      greeted.resolve();
    }
    if (type === FRAME.goAway) isDismissed = true;
    if (streamId === 0) return;
    const answer = answers.get(streamId) ?? { body: Buffer.alloc(0), end: undefined };
    answers.set(streamId, answer);
    if (type === FRAME.data) answer.body = Buffer.concat([answer.body, payload]);
    if (type === FRAME.reset) answer.end ??= 'reset';
    if ((type === FRAME.data || type === FRAME.headers) && (flags & END_STREAM) !== 0) answer.end = 'clean';
    if (answer.end !== undefined) waiting.get(streamId)?.(answer);
  };
  socket.on('data', (piece: Buffer) => {
    unread = Buffer.concat([unread, piece]);
    while (unread.length >= HEADER_BYTES) {
      const size = HEADER_BYTES + unread.readUIntBE(0, 3);
      if (unread.length < size) return;
      receive(unread[3] ?? 0, unread[4] ?? 0, unread.readUInt32BE(5), unread.subarray(HEADER_BYTES, size));
      unread = unread.subarray(size);
    }
  });
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0, options.settings)]));
  // Waits for the server's settings: to acknowledge them within a header block would be a violation
  // that no test intends.
  await Promise.race([greeted.promise, closed]);
  return {
    socket,
    send: (...frames) => void socket.write(Buffer.concat(frames)),
    answer: (streamId) => answers.get(streamId),
    ended: (streamId) => {
      const answer = answers.get(streamId);
      if (answer?.end !== undefined || socket.destroyed) return Promise.resolve(answer);
      return new Promise((resolve) => waiting.set(streamId, resolve));
    },
    dismissed: () => isDismissed,
    closed,
  };
}
