import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { TestCertificate } from '../../provider/certificate.ts';

/** A mail server on loopback, and the mails that it accepted. */
export interface MailServer {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** Sets the status for the following mails; `undefined` accepts them. */
  refuse(status: number | undefined): void;
  close(): Promise<void>;
}

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly head: string;
  /** The decoded body. */
  readonly text: string;
}

export async function startMailServer(
  login?: { readonly user: string; readonly password: string },
  certificate?: TestCertificate,
): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  let refused: number | undefined;
  const server = new SMTPServer({
    authOptional: login === undefined,
    disabledCommands: certificate === undefined ? ['STARTTLS'] : [],
    ...certificate,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, callback) =>
      username === login?.user && password === login?.password
        ? callback(null, { user: username })
        : callback(new Error('wrong')),
    onRcptTo: (_address, _session, callback) =>
      refused === undefined ? callback() : callback(Object.assign(new Error('later'), { responseCode: refused })),
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const end = text.indexOf('\r\n\r\n');
        const [head, body] = [text.slice(0, end), text.slice(end + 4)];
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, head, text: decoded(head, body) });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    refuse: (status) => {
      refused = status;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function decoded(head: string, body: string): string {
  const text = /transfer-encoding: base64/i.test(head) ? Buffer.from(body, 'base64').toString() : body;
  return text.replaceAll('\r\n', '\n');
}

/** A customer's webhook server, and the requests that it received. */
export interface WebhookReceiver {
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** Sets the response to the following requests. Without a call, the status is 204. */
  answer(status: number, headers?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

export interface ReceivedRequest {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = [];
  let [status, headers]: [number, Readonly<Record<string, string>>] = [204, {}];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(status, headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    answer: (nextStatus, nextHeaders = {}) => {
      [status, headers] = [nextStatus, nextHeaders];
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
