import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A provider whose script writes raw bytes, valid HTTP or not, and decides how the connection ends.
 */
export interface RawProvider {
  readonly baseUrl: string;
  /** Sets the act for requests whose last message is `name`. */
  script(name: string, act: RawAct): void;
  /** Number of requests whose last message was `name`. */
  asked(name: string): number;
  close(): Promise<void>;
}

export type RawAct = (socket: Socket) => Promise<void> | void;

export async function startRawProvider(): Promise<RawProvider> {
  const acts = new Map<string, RawAct>();
  const asked = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Errors are expected when a connection is cut.
    socket.on('error', () => {});
    readRequests(socket, (name) => {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      const act = acts.get(name);
      if (act === undefined) throw new Error(`no script for ${name}`);
      void act(socket);
    });
  });
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    script: (name, act) => void acts.set(name, act),
    asked: (name) => asked.get(name) ?? 0,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Parses requests by `content-length`, which Envoy always sends for a body that it has whole. */
function readRequests(socket: Socket, onRequest: (name: string) => void): void {
  let text = '';
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
    for (;;) {
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const length = Number(/^content-length: (\d+)\r$/im.exec(text.slice(0, headEnd + 2))?.[1]);
      const end = headEnd + 4 + length;
      if (text.length < end) return;
      const { messages } = JSON.parse(text.slice(headEnd + 4, end)) as { messages: { content: string }[] };
      text = text.slice(end);
      onRequest(messages.at(-1)?.content ?? '');
    }
  });
}

/** Time for the other side to read the written bytes, because a reset may overtake them. */
const SETTLE_MS = 30;

/** Writes the bytes, then sends TCP RST. */
export function thenReset(bytes: string | Uint8Array): RawAct {
  return async (socket) => {
    if (bytes.length > 0) socket.write(bytes);
    await sleep(SETTLE_MS);
    socket.resetAndDestroy();
  };
}

/** Writes the bytes, then sends TCP FIN. */
export function thenFin(bytes: string | Uint8Array): RawAct {
  return (socket) => void socket.end(bytes);
}

/** Writes the bytes, then sends nothing more on the open connection. */
export function thenSilence(bytes: string | Uint8Array): RawAct {
  return (socket) => {
    if (bytes.length > 0) socket.write(bytes);
  };
}

/**
 * Writes `bytes`, then `again` repeatedly until the caller closes: with pauses of `paceMs`, or as
 * fast as the caller reads.
 */
export function thenForEver(bytes: string, again: string, paceMs?: number): RawAct {
  return async (socket) => {
    socket.write(bytes);
    while (socket.writable) {
      const isTaken = socket.write(again);
      if (paceMs !== undefined) await sleep(paceMs);
      else if (!isTaken) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
    }
  };
}

/**
 * The head of a 200 whose body ends with the connection, unless `more` contains a framing header.
 */
export function head(contentType: string, more: Readonly<Record<string, string>> = {}): string {
  const headers = Object.entries({ 'content-type': contentType, ...more }).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 200 OK\r\n${headers.join('\r\n')}\r\n\r\n`;
}

export function chunk(data: string): string {
  return `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;
}

export const LAST_CHUNK = '0\r\n\r\n';
