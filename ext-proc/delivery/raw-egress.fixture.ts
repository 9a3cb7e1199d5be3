import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { END, type ProviderCall } from './provider/provider-call.ts';
import { ProviderClient } from './provider/provider-client.ts';
import { FAILURES } from './provider/provider-failure.ts';

/** Handler of a connection with its bytes, called when its request is whole. */
export type RawResponse = (socket: Socket, request: Buffer) => void;

/** For the tests of this folder: a peer that answers with any bytes. */
export interface RawEgress {
  readonly socketPath: string;
  readonly sockets: readonly Socket[];
  response: RawResponse;
  readonly client: ProviderClient;
  close(): Promise<void>;
}

export const HEAD = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\ncontent-length: ';
export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

export async function startRawEgress(): Promise<RawEgress> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-raw-'));
  const socketPath = join(folder, 's');
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let sent = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (piece) => {
      sent = Buffer.concat([sent, piece]);
      const bodyStart = sent.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/.exec(sent.toString('latin1'))?.[1]);
      if (sent.length < bodyStart + length) return;
      const whole = sent;
      sent = Buffer.alloc(0);
      egress.response(socket, whole);
    });
  });
  server.listen(socketPath);
  await once(server, 'listening');
  const client = new ProviderClient(socketPath);
  const egress: RawEgress = {
    socketPath,
    sockets,
    response: (socket) => socket.write(OK),
    client,
    async close() {
      client.close();
      for (const socket of sockets) socket.destroy();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
  return egress;
}

export function ask(client: ProviderClient, body = '{}'): ProviderCall {
  const bytes = Buffer.from(body);
  const middle = bytes.length >> 1;
  const pieces = [bytes.subarray(0, middle), bytes.subarray(middle)];
  const call = client.call({ path: '/', headers: ['host', 'x'], body: pieces, bodyBytes: bytes.length });
  call.limit(10_000, FAILURES.deadline);
  return call;
}

/** The answer's body, or what became of it. */
export async function whole(call: ProviderCall): Promise<string> {
  const head = await call.head();
  if (head.kind === 'failure') return head.result;
  let text = '';
  for (;;) {
    const read = await call.read();
    if (read === END) return text;
    if (!Buffer.isBuffer(read)) return `${text}, then ${read.kind === 'failure' ? read.result : read.kind}`;
    text += read.toString();
  }
}

export async function closed(socket: Socket | undefined): Promise<void> {
  await expect.poll(() => socket?.closed ?? false).toBe(true);
}
