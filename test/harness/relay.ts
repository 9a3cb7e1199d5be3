import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';

/**
 * A path to a server that can be blocked as by a firewall: packets are dropped and neither side is
 * notified.
 */
export interface Relay {
  /** On loopback. Only a relay that listens at a path has none. */
  readonly port: number;
  cut(): void;
  /** New connections reach the server. Connections from before are closed. */
  mend(): void;
  close(): Promise<void>;
}

type Address = { readonly port: number; readonly host?: string } | { readonly path: string };
type Forward = (client: Socket, server: Socket) => void;

export interface RelayOptions {
  /** Default: a free port. */
  readonly from?: Address;
  /** Default: all bytes and the end, in both directions. */
  readonly forward?: Forward;
}

const forwardAll: Forward = (client, server) => void client.pipe(server).pipe(client);

/** `to` names the server of each new connection. `undefined`: there is none, so it is closed. */
export async function startRelay(
  to: () => Address | undefined,
  { from = { port: 0 }, forward = forwardAll }: RelayOptions = {},
): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const watch = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
  };
  const relay = createServer((client) => {
    watch(client);
    if (isCut) return;
    const address = to();
    if (address === undefined) return void client.destroy();
    const server = watch(connect({ host: '127.0.0.1', ...address }));
    forward(client, server);
    client.on('close', () => isCut || server.destroySoon());
    server.on('close', () => isCut || client.destroySoon());
  });
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  relay.listen({ host: '127.0.0.1', ...from });
  await once(relay, 'listening');
  return {
    port: (relay.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend() {
      isCut = false;
      drop();
    },
    async close() {
      drop();
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}

/** A relay to PostgreSQL, and the URL of the database through it. */
export async function startPostgresRelay(databaseUrl: string, forward?: Forward): Promise<Relay & { url: string }> {
  const { host, port, user, database } = new pg.Client({ connectionString: databaseUrl });
  const address = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { port, host };
  const relay = await startRelay(() => address, forward && { forward });
  return { ...relay, url: `postgresql://${user}@127.0.0.1:${relay.port}/${database}` };
}
