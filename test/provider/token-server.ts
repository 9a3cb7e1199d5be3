import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A scriptable OAuth2 token endpoint on loopback. The URL's path selects the script. */
export interface TokenServer {
  /** `name` becomes the path. */
  url(name: string, host?: string): string;
  /** Default script: a token that is valid for an hour. */
  script(name: string, answer: TokenAnswer): void;
  /** Requests so far, oldest first. */
  requests(name: string): readonly TokenRequest[];
  close(): Promise<void>;
}

export interface TokenRequest {
  readonly form: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** `count` is the number of the request, from 1. */
export type TokenAnswer = (response: ServerResponse, count: number) => void;

/** Each token ends with the number of its request. */
export function token(prefix: string, members: Readonly<Record<string, unknown>> = { expires_in: 3600 }): TokenAnswer {
  return (response, count) =>
    tokenText(JSON.stringify({ access_token: `${prefix}-${count}`, token_type: 'Bearer', ...members }))(
      response,
      count,
    );
}

export function tokenText(body: string, status = 200): TokenAnswer {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

export async function startTokenServer(tls?: { readonly key: string; readonly cert: string }): Promise<TokenServer> {
  const scripts = new Map<string, TokenAnswer>();
  const seen = new Map<string, TokenRequest[]>();
  const server = (tls === undefined ? createServer() : createHttpsServer(tls)).on('request', (request, response) => {
    const name = String(request.url).slice(1);
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const requests = seen.get(name) ?? [];
      seen.set(name, requests);
      requests.push({ form: new URLSearchParams(body), headers: request.headers });
      const answer = scripts.get(name) ?? token(name);
      answer(response, requests.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (name, host = '127.0.0.1') => `${tls === undefined ? 'http' : 'https'}://${host}:${port}/${name}`,
    script: (name, answer) => void scripts.set(name, answer),
    requests: (name) => seen.get(name) ?? [],
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
