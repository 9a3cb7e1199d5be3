import { request } from 'node:http';
import type { ProblemView } from '#contract/api.ts';
import { PATIENCE_MS } from '../../fixtures/patience.ts';

/** Sends requests as a browser does from the dashboard's page, and keeps its cookies. */
export interface Browser {
  readonly cookies: Map<string, string>;
  get<T = unknown>(path: string, headers?: Headers): Promise<Reply<T>>;
  send<T = unknown>(method: string, path: string, body?: unknown, headers?: Headers): Promise<Reply<T>>;
}

/** A header with `undefined` is omitted, although a browser would send it. */
export type Headers = Readonly<Record<string, string | undefined>>;

export interface Reply<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body, parsed as the expected type. */
  readonly body: T & Partial<ProblemView>;
}

export function createBrowser(origin: string): Browser {
  const cookies = new Map<string, string>();

  async function ask<T>(method: string, path: string, body: string | undefined, given: Headers): Promise<Reply<T>> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = defined({ cookie: cookie === '' ? undefined : cookie, ...given });
    const reply = await exchange<T>(`${origin}${path}`, method, headers, body);
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) keepCookie(cookies, line);
    return reply;
  }

  return {
    cookies,
    get: (path, headers = {}) => ask('GET', path, undefined, { 'sec-fetch-site': 'same-origin', ...headers }),
    send: (method, path, body = {}, headers = {}) => {
      const own = { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
      return ask(method, path, typeof body === 'string' ? body : JSON.stringify(body), { ...own, ...headers });
    },
  };
}

function exchange<T>(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<Reply<T>> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const isDeclared = body !== undefined && headers['transfer-encoding'] === undefined;
    const length = isDeclared ? { 'content-length': String(Buffer.byteLength(body)) } : {};
    const sent = request(url, { method, headers: { ...length, ...headers }, signal }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          body: isJson ? JSON.parse(text) : {},
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function keepCookie(cookies: Map<string, string>, line: string): void {
  const [pair = ''] = line.split(';', 1);
  const [name = '', value = ''] = pair.split('=', 2);
  if (/;\s*max-age=0\b/i.test(line)) cookies.delete(name);
  else cookies.set(name, value);
}

function defined(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Sends a request without waiting for its response. The returned function disconnects. */
export function leaveable({ cookies }: Browser, url: string, body: object): () => void {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { cookie, origin: new URL(url).origin, 'content-type': 'application/json' };
  const sent = request(url, { method: 'POST', headers, agent: false });
  sent.on('error', () => {});
  sent.on('response', (response) => response.resume().on('error', () => {}));
  sent.end(JSON.stringify(body));
  return () => sent.destroy();
}
