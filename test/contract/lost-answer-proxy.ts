import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';

export interface LostAnswerProxy {
  /** URL of the database through the proxy. */
  readonly url: string;
  /** Number of commits whose reply was dropped. */
  lost(): number;
  /** Forwards every reply from now on. */
  mend(): void;
  close(): Promise<void>;
}

/**
 * Starts a proxy in front of PostgreSQL that cuts a connection when the server replies to its
 * COMMIT, so that the client does not know its result.
 */
export async function startLostAnswerProxy(databaseUrl: string): Promise<LostAnswerProxy> {
  const { host, port, user, database } = new pg.Client({ connectionString: databaseUrl });
  const sockets = new Set<Socket>();
  let lost = 0;
  let mended = false;
  const server = createServer((client) => {
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    let committing = false;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
    }
    client.on('data', (bytes) => {
      committing ||= !mended && /commit\0/i.test(bytes.toString('latin1'));
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!committing) return void client.write(bytes);
      lost += 1;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = (server.address() as AddressInfo).port;
  return {
    url: `postgresql://${user}@127.0.0.1:${own}/${database}`,
    lost: () => lost,
    mend: () => {
      mended = true;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
