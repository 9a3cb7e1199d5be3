import { END_HEADERS, END_STREAM, FRAME, frame, openRawHttp2, type RawHttp2, setting } from '../harness/raw-http2.ts';

/**
 * HTTP/2 requests whose responses are never read: Envoy keeps a request until the last byte of its
 * response is sent. Their heads are long, but cost only a hundred bytes each on the wire because of
 * HPACK's table.
 */
export interface UnreadRequests {
  readonly connections: number;
  /** Streams on each connection. */
  readonly streams: number;
  /** Length of a header value, and number of headers with it. */
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
/** Prefix of a field that is added to the dynamic table, and indexes of the two newest entries. */
const JOINS = 0x40;
const NEWEST = 0x80 | 62;
const SECOND_NEWEST = 0x80 | 63;

/** Opens all connections. Those that the gateway closes are not reopened. */
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

/**
 * A string with its length, whose prefix has seven bits (RFC 7541, section 5.1). At most 16 KiB.
 */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const rest = bytes.length - 127;
  const length = rest < 0 ? [bytes.length] : rest < 128 ? [127, rest] : [127, 128 | (rest % 128), rest >> 7];
  return Buffer.concat([Buffer.from(length), bytes]);
}
