import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A server in place of the API, which records the dashboard's requests. A test scripts it. */
export interface ApiStandIn {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  readonly seen: readonly SeenPlay[];
  /** Responds to the following requests. */
  answer: (response: ServerResponse) => void;
  close(): Promise<void>;
}

export interface SeenPlay {
  readonly secret: string;
  readonly body: Record<string, unknown>;
  /** True when the connection has ended, for whatever reason. */
  readonly ended: () => boolean;
}

export const STREAM = { 'content-type': 'text/event-stream', 'x-request-id': 'request-1', 'set-cookie': 'a=b' };

export async function startApi(): Promise<ApiStandIn> {
  const seen: SeenPlay[] = [];
  const server: Server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let ended = false;
    response.once('close', () => {
      ended = true;
    });
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    seen.push({ secret: (request.headers.authorization ?? '').replace('Bearer ', ''), body, ended: () => ended });
    api.answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api: ApiStandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    answer: (response) => void response.writeHead(200, STREAM).end('data: [DONE]\n\n'),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return api;
}
