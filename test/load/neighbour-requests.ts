import { type Agent, request } from 'node:http';

/** Path of the attacks' requests, of which only the outcome is kept. */
export const CHAT = '/v1/chat/completions';

export interface Asked {
  readonly path: string;
  readonly key: string;
  /** Absent for a GET. */
  readonly body?: Buffer;
  readonly idempotencyKey?: string;
}

const PADDING_BYTES = 14.9 * 1024 * 1024;
const ONE_PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export function chatBody(model: string, content: unknown = 'Hello'): Buffer {
  const stream = model.endsWith('stream');
  return Buffer.from(JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }));
}

/** Content of nearly 20 MiB that counts as a one-pixel image. */
export function paddedImage(): unknown {
  const image = Buffer.concat([ONE_PIXEL, Buffer.alloc(PADDING_BYTES)]).toString('base64');
  return [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }];
}

/** Resolves at the end of the response with its status, or with the reason why there is none. */
export function ask(agent: Agent, origin: string, asked: Asked): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request(`${origin}${asked.path}`, { agent, ...methodAndHeaders(asked) }, (response) => {
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('error', (error) => resolve(codeOf(error)));
      response.resume();
    });
    outgoing.on('error', (error) => resolve(codeOf(error)));
    outgoing.end(asked.body);
  });
}

/** Disconnects at the first byte of the response body. */
export function askAndLeave(origin: string, asked: Asked): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request(`${origin}${asked.path}`, { agent: false, ...methodAndHeaders(asked) }, (response) => {
      response.on('error', () => undefined);
      response.once('data', () => {
        response.destroy();
        resolve(`${response.statusCode} left`);
      });
      response.once('end', () => resolve(String(response.statusCode)));
    });
    outgoing.on('error', (error) => resolve(codeOf(error)));
    outgoing.end(asked.body);
  });
}

function methodAndHeaders({ key, body, idempotencyKey }: Asked) {
  const headers: Record<string, string | number> = { authorization: `Bearer ${key}` };
  if (body) headers['content-length'] = body.length;
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  return { method: body ? 'POST' : 'GET', headers };
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
