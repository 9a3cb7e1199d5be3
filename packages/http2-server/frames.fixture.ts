import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BorrowedBytes } from './borrowed-bytes.ts';
import { FRAME_HEAD_BYTES, FrameType, PREFACE } from './protocol.ts';
import { type Http2Server, startHttp2Server } from './server.ts';
import type { Http2Stream } from './stream.ts';

/** An HTTP/2 client that sends only what a test writes. */

/** One frame as it is sent, well-formed or not. */
export function rawFrame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** One setting, by its number in RFC 9113. */
export function setting(id: number, value: number): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id);
  payload.writeUInt32BE(value, 2);
  return payload;
}

/** Resolves when the condition holds; throws after `withinMs`. */
export async function waitFor(condition: () => boolean, withinMs = 20_000): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error('never happened');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

/** A literal that no table keeps. Name and value must be shorter than 127 bytes. */
export function literal(name: string, value: string): Buffer {
  return Buffer.from(
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
    'latin1',
  );
}

/** :method POST, :scheme http, :path. */
export function requestBlock(path = '/x', ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(0x83, 0x86), literal(':path', path), ...more]);
}

export const OPENING: Buffer = Buffer.concat([PREFACE, rawFrame(FrameType.settings, 0, 0)]);
export const END_STREAM = 1;
export const END_HEADERS = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + FRAME_HEAD_BYTES <= bytes.length; ) {
    const end = at + FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
    frames.push({
      type,
      flags,
      streamId: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + FRAME_HEAD_BYTES, end),
    });
    at = end;
  }
  return frames;
}

/** Everything the server received on one stream. */
export interface Served {
  readonly stream: Http2Stream;
  readonly path: string;
  data: string;
  /** `end`, `closed`, in the order they came. */
  readonly events: string[];
}

export interface RawServer {
  readonly path: string;
  readonly served: Served[];
  readonly errors: string[];
  readonly server: Http2Server;
  open(): Promise<RawClient>;
  close(): Promise<void>;
}

export interface RawClient {
  readonly socket: Socket;
  frames(): Frame[];
  ofType(type: number): Frame[];
  closed(): boolean;
}

/** A server that records its streams; the test answers them. */
export async function serveRaw(onStream: (served: Served) => void = () => undefined): Promise<RawServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-http2-'));
  const path = join(folder, 'h2.sock');
  const served: Served[] = [];
  const errors: string[] = [];
  const sockets: Socket[] = [];
  const accept = (stream: Http2Stream, ofPath: string) => {
    const entry: Served = { stream, path: ofPath, data: '', events: [] };
    served.push(entry);
    onStream(entry);
    return {
      data(bytes: BorrowedBytes, start: number, end: number) {
        entry.data += bytes.toString('latin1', start, end);
      },
      ended: () => void entry.events.push('end'),
      closed: () => void entry.events.push('closed'),
    };
  };
  const server = await startHttp2Server({
    listen: (server) => new Promise<void>((resolve) => void server.listen(path, resolve)),
    accept,
    onError: (error) => errors.push(error.message),
  });
  return {
    path,
    served,
    errors,
    server,
    async open() {
      const socket = connect(path);
      sockets.push(socket);
      let bytes = Buffer.alloc(0);
      let closed = false;
      socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        closed = true;
      });
      await once(socket, 'connect');
      const frames = () => framesOf(bytes);
      return { socket, frames, ofType: (type) => frames().filter((each) => each.type === type), closed: () => closed };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const STATUS_200 = Buffer.of(0x88);
export const TRAILERS = literal('grpc-status', '0');
export const headers = (streamId: number, flags = END_HEADERS, block = requestBlock()) =>
  rawFrame(FrameType.headers, flags, streamId, block);
export const data = (streamId: number, payload: Buffer | string, flags = 0) =>
  rawFrame(FrameType.data, flags, streamId, Buffer.from(payload));

export function answer(served: Served, body: Buffer | string): void {
  served.stream.sendHeaders(STATUS_200);
  served.stream.sendData(Buffer.from(body));
  served.stream.end(TRAILERS);
}

/** Data that the client has received on that stream. */
export function dataOf(client: RawClient, streamId: number): Buffer {
  return Buffer.concat(client.ofType(FrameType.data).flatMap((f) => (f.streamId === streamId ? [f.payload] : [])));
}

export const resets = (client: RawClient) =>
  client.ofType(FrameType.reset).map(({ streamId, payload }) => [streamId, payload.readUInt32BE(0)]);

export async function goAwayCode(client: RawClient): Promise<number | undefined> {
  await waitFor(client.closed);
  return client.ofType(FrameType.goAway)[0]?.payload.readUInt32BE(4);
}
