import { startPostgresRelay } from '../harness/relay.ts';

/**
 * Starts a proxy in front of PostgreSQL that cuts a connection when the server replies to its
 * COMMIT, so that the client does not know its result.
 */
export async function startLostAnswerProxy(databaseUrl: string) {
  let lost = 0;
  let mended = false;
  const { url, close } = await startPostgresRelay(databaseUrl, (client, server) => {
    let committing = false;
    client.on('data', (bytes) => {
      committing ||= !mended && /commit\0/i.test(bytes.toString('latin1'));
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (!committing) return void client.write(bytes);
      lost += 1;
      client.destroy();
    });
  });
  return {
    ...{ url, close },
    /** Number of commits whose reply was dropped. */
    lost: () => lost,
    /** Forwards every reply from now on. */
    mend: () => {
      mended = true;
    },
  };
}
