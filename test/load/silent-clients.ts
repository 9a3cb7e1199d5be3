import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * Clients that request a large response and never read it. After the kernel's buffers, the
 * gateway's buffers must not fill too.
 */
export interface SilentClients {
  close(): void;
}

export async function openSilentClients(
  origin: string,
  key: string,
  body: string,
  count: number,
): Promise<SilentClients> {
  const { hostname, port } = new URL(origin);
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(Number(port), hostname);
    // The gateway closes the connection in the end, which is not checked here.
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.pause();
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    sockets.push(socket);
  }
  return {
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
