import { setTimeout as sleep } from 'node:timers/promises';
import type { Transporter } from 'nodemailer';
import type { MailConfig, SmtpServer } from '#core/config/dashboard-config.ts';
import { parseIpAddress } from '#core/net/ip-ranges.ts';
import type { AttemptResult } from '#database/alerts/outbox.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The same in all attempts. */
  readonly messageId: string;
}

/** Time limits for name lookup, connection and greeting each, and for silence after them. */
const CONNECT_MS = 10_000;
const SOCKET_MS = 20_000;
/** Time limit of a whole mail, below a message's lease (1 min), after which it is sent again. */
const DEADLINE_MS = 40_000;
/** Less than the time that the doctor gives a check. */
const CHECK_MS = 12_000;

/** Returns the result of the attempt, without its duration. */
export async function sendMail(
  { server, from }: MailConfig,
  mail: Mail,
): Promise<Pick<AttemptResult, 'kind' | 'text'>> {
  const { to, subject, text, messageId } = mail;
  const domain = from.replace(/^.*@/s, '').replace('>', '');
  const wrong = await within(DEADLINE_MS, server, (transport) =>
    transport.sendMail({
      ...{ from, to, subject, text, messageId: `<${messageId}@${domain}>`, textEncoding: 'base64' },
      headers: { 'Auto-Submitted': 'auto-generated' },
    }),
  );
  return wrong === undefined
    ? { kind: 'delivered', text: 'accepted by the mail server' }
    : { kind: 'failed', text: wrong };
}

/** Connects and logs in without sending anything. Returns the problem, if any. */
export function checkMailServer(server: SmtpServer): Promise<string | undefined> {
  return within(CHECK_MS, server, (transport) => transport.verify());
}

async function within(
  deadlineMs: number,
  { host, port, tls, login, plaintext }: SmtpServer,
  work: (transport: Transporter) => Promise<unknown>,
): Promise<string | undefined> {
  // Loaded with the first mail, because it needs 2.6 MB of memory.
  const { createTransport } = await import('nodemailer');
  const transport: Transporter = createTransport({
    ...{ host, port, secure: tls },
    // Links that open accounts, and passwords, are sent only over TLS, except within this machine.
    // `plaintext` allows mails without TLS if there is no login.
    requireTLS: !tls && !isThisMachine(host) && (login !== undefined || plaintext !== true),
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
    ...{ connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: SOCKET_MS, dnsTimeout: CONNECT_MS },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  const ended = new AbortController();
  try {
    const done = work(transport);
    const late = sleep(deadlineMs, undefined, { signal: ended.signal, ref: false }).then(() => {
      throw Object.assign(new Error('late'), { code: 'ETIMEDOUT' });
    });
    // The loser of the race may reject later.
    for (const one of [done, late]) one.catch(() => undefined);
    await Promise.race([done, late]);
    return undefined;
  } catch (error) {
    return wordsOf(error);
  } finally {
    ended.abort();
    transport.close();
  }
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || parseIpAddress(host)?.range() === 'loopback';
}

const WORDS: Readonly<Record<string, string>> = {
  EAUTH: 'the mail server refused the login',
  EENVELOPE: 'the mail server refused the address',
  EMESSAGE: 'the mail server refused the message',
  ETLS: 'the mail server has no usable TLS',
  ETIMEDOUT: 'the mail server did not answer in time',
  ECONNECTION: 'the connection to the mail server was lost',
  ECONNRESET: 'the connection to the mail server was lost',
  ECONNREFUSED: 'the mail server is not reachable',
  EDNS: 'the name of the mail server does not resolve',
  ESOCKET: 'the mail server is not reachable',
  CERT_HAS_EXPIRED: 'the certificate of the mail server has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the mail server is for another name',
};

interface MailError {
  readonly code?: string;
  /** Code of the failure of the connection or of TLS, behind ESOCKET. */
  readonly originalCode?: string;
  readonly responseCode?: number;
}

function wordsOf(error: unknown): string {
  const { code = '', originalCode = '', responseCode } = error as MailError;
  const words = WORDS[originalCode] ?? wordsOfTls(originalCode) ?? WORDS[code] ?? 'the mail was not accepted';
  return responseCode === undefined ? words : `${words} (${responseCode})`;
}

/** Most codes for a certificate that cannot be verified name it, or its signature. */
function wordsOfTls(code: string): string | undefined {
  if (code.startsWith('ERR_SSL_')) return WORDS.ETLS;
  return /CERT|SIGNATURE/.test(code) ? 'the certificate of the mail server is not trusted' : undefined;
}
