import { Agent, createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkDocumented } from '../harness/documented-response.ts';

/** One forwarded request with its response. */
export interface Attempt {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** When the request arrived, on `performance.now()`. */
  readonly atMs: number;
}

/**
 * A proxy before the gateway that records a client library's attempts, of which its caller sees
 * only the last.
 */
export interface CountingProxy {
  readonly origin: string;
  /**
   * The attempts since the last call of `take`. Throws if a response differed from
   * docs/openapi.yaml.
   */
  take(): readonly Attempt[];
  /** Called with every attempt when its response has started, before the client receives it. */
  onAttempt(listener: (attempt: Attempt) => void): void;
  /** Called with the whole text of a response so far, whenever more has arrived. */
  onText(listener: (text: string) => void): void;
  close(): Promise<void>;
}

export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const agent = new Agent({ keepAlive: true });
  let attempts: Attempt[] = [];
  let problem: unknown;
  let listener: (attempt: Attempt) => void = () => {};
  let textListener: (text: string) => void = () => {};
  const server = createServer((incoming, outgoing) => {
    const atMs = performance.now();
    const { method = '', url = '', headers } = incoming;
    const onward = request(`${target}${url}`, { method, headers, agent }, (answer) => {
      const attempt = { status: answer.statusCode ?? 0, headers: answer.headers, atMs };
      attempts.push(attempt);
      listener(attempt);
      outgoing.writeHead(attempt.status, answer.headers);
      const pieces: Buffer[] = [];
      let text = '';
      answer.on('data', (piece: Buffer) => {
        pieces.push(piece);
        text += piece;
        textListener(text);
      });
      answer.on('end', () => {
        const body = Buffer.concat(pieces);
        try {
          checkDocumented({ method, path: url }, { ...attempt, body, text: body.toString(), pieces: [] });
        } catch (error) {
          problem ??= error;
        }
      });
      answer.pipe(outgoing);
    });
    onward.on('error', (error) => outgoing.destroy(error));
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => {
      if (problem !== undefined) throw problem;
      const taken = attempts;
      attempts = [];
      return taken;
    },
    onAttempt: (next) => {
      listener = next;
    },
    onText: (next) => {
      textListener = next;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}
