import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';

/**
 * A path to PostgreSQL that can be cut like a network: bytes are dropped and neither side is
 * notified.
 */
export interface CuttableDatabase {
  /** URL of the database on this path. */
  readonly url: string;
  cut(): void;
  /** Accepts new connections again. Dropped bytes stay lost. */
  mend(): void;
  close(): Promise<void>;
}

export async function startCuttableDatabase(databaseUrl: string): Promise<CuttableDatabase> {
  const { host, port, user, database } = new pg.Client({ connectionString: databaseUrl });
  const sockets = new Set<Socket>();
  let isCut = false;
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = createServer((client) => {
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.on('data', (bytes) => void (isCut || to.write(bytes)));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `postgresql://${user}@127.0.0.1:${(server.address() as AddressInfo).port}/${database}`,
    cut: () => {
      isCut = true;
    },
    mend: () => {
      drop();
      isCut = false;
    },
    close: async () => {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
}
