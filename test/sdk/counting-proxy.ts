import { Agent, createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkDocumented } from '../harness/documented-response.ts';

/** One request that went through, and what it was answered. */
export interface Attempt {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** When the request arrived, on `performance.now()`. */
  readonly atMs: number;
}

/**
 * Stands before the gateway and counts what a client library sends: its caller sees only the last
 * answer.
 */
export interface CountingProxy {
  readonly origin: string;
  /**
   * The attempts since the last call of this. Throws if a response was not as docs/openapi.yaml
   * says.
   */
  take(): readonly Attempt[];
  /** Called with every attempt once its answer has begun, before the client has it. */
  onAttempt(listener: (attempt: Attempt) => void): void;
  /** Called with all of a response so far, each time that more came. */
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
