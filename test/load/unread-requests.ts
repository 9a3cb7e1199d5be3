import { END_HEADERS, END_STREAM, FRAME, frame, openRawHttp2, type RawHttp2, setting } from '../harness/raw-http2.ts';

/**
 * Requests over HTTP/2 whose responses are never read: Envoy keeps a request until the last byte of
 * its response has left. With long heads, which cost a hundred bytes each by the table of HPACK.
 */
export interface UnreadRequests {
  readonly connections: number;
  /** On each connection. */
  readonly streams: number;
  /** Length of a value, and how many headers have it. */
  readonly headers?: { readonly valueBytes: number; readonly count: number };
  readonly key?: string;
  readonly path: string;
  readonly localAddress: string;
}

const INITIAL_WINDOW = 4;
/** `:method: GET` and `:scheme: http` of the static table (RFC 7541, Appendix A). */
const METHOD_AND_SCHEME = Buffer.of(0x82, 0x86);
const PATH = 0x04;
const AUTHORITY = 0x01;
/** A field that joins the dynamic table, and then its place there. */
const JOINS = 0x40;
const NEWEST = 0x80 | 62;
const SECOND_NEWEST = 0x80 | 63;

/** Opens all of them. Those that the gateway closes stay closed. */
export async function openUnreadRequests(port: number, requests: UnreadRequests): Promise<{ close(): void }> {
  const { localAddress } = requests;
  const settings = setting(INITIAL_WINDOW, 0);
  const opened: RawHttp2[] = [];
  const one = async (): Promise<void> => {
    const connection = await openRawHttp2(port, { settings, localAddress }).catch(() => undefined);
    if (connection === undefined) return;
    opened.push(connection);
    for (let index = 0; index < requests.streams; index++) {
      const head = index === 0 ? firstHead(requests) : nextHead(requests);
      connection.send(frame(FRAME.headers, END_HEADERS | END_STREAM, 2 * index + 1, head));
    }
  };
  await Promise.all(Array.from({ length: requests.connections }, one));
  return {
    close: () => {
      for (const { socket } of opened) socket.destroy();
    },
  };
}

function firstHead({ key, path, headers }: UnreadRequests): Buffer {
  const [value, count] = headers ? ['a'.repeat(headers.valueBytes), headers.count] : ['', 1];
  const fields = [joining('authorization', key === undefined ? 'none' : `Bearer ${key}`), joining('x-a', value)];
  return Buffer.concat([...pseudoHeaders(path), ...fields, Buffer.alloc(count - 1, NEWEST)]);
}

function nextHead({ path, headers }: UnreadRequests): Buffer {
  const repeated = Buffer.alloc(headers?.count ?? 1, NEWEST);
  return Buffer.concat([...pseudoHeaders(path), Buffer.of(SECOND_NEWEST), repeated]);
}

function pseudoHeaders(path: string): readonly Buffer[] {
  return [METHOD_AND_SCHEME, Buffer.of(PATH), text(path), Buffer.of(AUTHORITY), text('gateway')];
}

function joining(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(JOINS), text(name), text(value)]);
}

/** With its length in a prefix of seven bits (RFC 7541, 5.1), up to 16 KiB. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const rest = bytes.length - 127;
  const length = rest < 0 ? [bytes.length] : rest < 128 ? [127, rest] : [127, 128 | (rest % 128), rest >> 7];
  return Buffer.concat([Buffer.from(length), bytes]);
}
