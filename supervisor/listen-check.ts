import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, formatAddress } from '#core/config/network-names.ts';

const RETRY_MS = 100;

export interface Listener {
  /** Name of the setting, such as `listen.api`. */
  readonly setting: string;
  readonly address: Address;
}

/**
 * Returns a message about the first address on which listening fails. Envoy itself would only log
 * the bind error. A port in use is retried until `patienceMs` have passed.
 */
export async function findListenProblem(
  listeners: readonly Listener[],
  configPath: string,
  patienceMs = 0,
): Promise<string | undefined> {
  const deadline = performance.now() + patienceMs;
  for (const { setting, address } of listeners) {
    let code = await tryToListen(address);
    while (code === 'EADDRINUSE' && performance.now() < deadline) {
      await sleep(RETRY_MS);
      code = await tryToListen(address);
    }
    if (code === undefined) continue;
    const shown = formatAddress(address);
    if (code === 'EADDRINUSE') {
      return `Port ${address.port} is already in use (${setting}: ${shown} in ${configPath}). Stop what uses it, or set another port there.`;
    }
    if (code === 'EACCES') {
      return `Port ${address.port} needs rights that this user does not have (${setting}: ${shown} in ${configPath}). Set a port from 1024 on.`;
    }
    return `${shown} cannot be listened on: ${code} (${setting} in ${configPath}).`;
  }
  return undefined;
}

function tryToListen({ host, port }: Address): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
