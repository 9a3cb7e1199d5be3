import { setTimeout as sleep } from 'node:timers/promises';
import {
  END_HEADERS,
  type Field,
  FRAME,
  frame,
  headerBlock,
  openRawHttp2,
  type RawHttp2,
} from '../harness/raw-http2.ts';

/** Requests with one key whose bodies never end. Each receives one byte a second. */
export interface WaitingUploads {
  /** Number of each outcome so far: the code of a refusal, or how the stream ended without one. */
  readonly answers: Readonly<Record<string, number>>;
  close(): void;
}

export interface UploadFlood {
  readonly port: number;
  readonly key: string;
  readonly uploads: number;
  readonly perSecond: number;
  /** Bytes of headers of each request. HPACK compresses them to a small fraction on the wire. */
  readonly headBytes?: number;
  /** Called with each outcome. */
  readonly note?: (answer: string) => void;
}

/** Below Envoy's bounds on streams of a connection and on requests in flight of an address. */
const STREAMS_OF_CONNECTION = 90;
const CONNECTIONS_OF_ADDRESS = 20;
const DRIP_EVERY_MS = 1_000;
const FILLERS = 90;
/**
 * The newest entry of a connection's dynamic table, as an indexed field (RFC 7541, section 6.1).
 */
const FIRST_ENTRY = 0x80 | 62;
/** Prefix of a literal that is added to the table (RFC 7541, section 6.2.1). */
const JOINS_TABLE = 0x40;

export async function openWaitingUploads(flood: UploadFlood): Promise<WaitingUploads> {
  const answers: Record<string, number> = {};
  const connections: Uploading[] = [];
  const beganMs = performance.now();
  for (let left = flood.uploads; left > 0; left -= STREAMS_OF_CONNECTION) {
    const localAddress = `127.0.0.${2 + Math.floor(connections.length / CONNECTIONS_OF_ADDRESS)}`;
    const connection = await openRawHttp2(flood.port, { localAddress });
    connections.push(begin(connection, flood, Math.min(left, STREAMS_OF_CONNECTION), answers));
    const untilMs = beganMs + ((flood.uploads - left) / flood.perSecond) * 1000;
    await sleep(Math.max(0, untilMs - performance.now()));
  }
  const timer = setInterval(() => {
    for (const { connection, open } of connections) connection.send(...[...open].map(oneByte));
  }, DRIP_EVERY_MS);
  return {
    answers,
    close() {
      clearInterval(timer);
      for (const { connection } of connections) connection.socket.destroy();
    },
  };
}

interface Uploading {
  readonly connection: RawHttp2;
  /** Streams without a response so far. */
  readonly open: Set<number>;
}

function begin(
  connection: RawHttp2,
  { key, headBytes = 0, note }: UploadFlood,
  count: number,
  answers: Record<string, number>,
): Uploading {
  const open = new Set(Array.from({ length: count }, (_, index) => 2 * index + 1));
  const plain = headerBlock(fields(key));
  for (const streamId of open) {
    const block = headBytes === 0 ? plain : Buffer.concat([plain, fillers(headBytes, streamId === 1)]);
    connection.send(frame(FRAME.headers, END_HEADERS, streamId, block), oneByte(streamId));
    void connection.ended(streamId).then((answer) => {
      open.delete(streamId);
      const code = /"code":"(\w+)"/.exec(answer?.body.toString() ?? '')?.[1] ?? answer?.end ?? 'closed';
      answers[code] = (answers[code] ?? 0) + 1;
      note?.(code);
    });
  }
  return { connection, open };
}

const oneByte = (streamId: number): Buffer => frame(FRAME.data, 0, streamId, Buffer.from(' '));

const fields = (key: string): Field[] => [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/v1/chat/completions'],
  [':authority', 'gateway'],
  ['authorization', `Bearer ${key}`],
  ['content-length', '1000'],
];

/** Repeats one header. The first request of a connection adds it to the dynamic table. */
function fillers(headBytes: number, isFirst: boolean): Buffer {
  const references = Buffer.alloc(isFirst ? FILLERS - 1 : FILLERS, FIRST_ENTRY);
  if (!isFirst) return references;
  const literal = headerBlock([['x-filler', 'f'.repeat(Math.floor(headBytes / FILLERS) - 'x-filler'.length)]]);
  literal[0] = JOINS_TABLE;
  return Buffer.concat([literal, references]);
}
