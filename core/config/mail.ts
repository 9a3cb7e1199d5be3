import type { z } from 'zod';
import { normalizeIpRange } from '../net/ip-ranges.ts';
import type { MailConfig, SmtpServer } from './dashboard-config.ts';
import { decoded } from './network-names.ts';
import type { RuleProblem } from './problem.ts';
import { flag, list, readText, section } from './schema-fields.ts';

const SMTP_URL = 'an URL such as smtp://user:password@smtp.example.com:587 or smtps://…, without path and query';
const ADDRESS = /^(?=.{3,254}$)[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*$/i;
const NAMED = /^[^<>@"\\,;:()[\]\p{Cc}]{1,200} <([^<>]{3,254})>$/u;

export const mail = section({
  smtp_url: readText(SMTP_URL, parseSmtpUrl).optional(),
  from: readText('an address such as noreply@example.com or Inference Gateway <noreply@example.com>', (text) =>
    isMailbox(text) ? text : undefined,
  ),
  operators: list(
    readText('an address such as operator@example.com', (text) => (ADDRESS.test(text) ? text : undefined)),
    0,
    10,
    'addresses such as operator@example.com',
  ).prefault([]),
  plaintext: flag.prefault(false),
});

export const webhooks = section({
  private_networks: list(
    readText('an address range such as 10.0.0.0/8, fd00::/8 or 192.0.2.1', normalizeIpRange),
    0,
    100,
    'address ranges',
  ).prefault([]),
});

type MailEntry = z.output<typeof mail>;

export function checkMail(entry: MailEntry | undefined): RuleProblem[] {
  if (entry === undefined || entry.smtp_url !== undefined) return [];
  return [{ path: ['mail', 'smtp_url'], message: `is required: ${SMTP_URL}` }];
}

export function mailOf(entry: MailEntry | undefined): MailConfig | undefined {
  if (entry?.smtp_url === undefined) return undefined;
  const { smtp_url: server, from, operators, plaintext } = entry;
  return { server: plaintext ? { ...server, plaintext } : server, from, operators };
}

const IMPLICIT_TLS_PORT = 465;
const SUBMISSION_PORT = 587;

function parseSmtpUrl(text: string): SmtpServer | undefined {
  const url = /^smtps?:\/\/[^\s?#]{1,2000}$/i.test(text) ? URL.parse(text) : null;
  if (url === null || url.hostname === '' || url.port === '0' || !['', '/'].includes(url.pathname)) return undefined;
  const tls = url.protocol === 'smtps:';
  const port = url.port === '' ? (tls ? IMPLICIT_TLS_PORT : SUBMISSION_PORT) : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || password === undefined || (user === '') !== (password === '')) return undefined;
  return { host, port, tls, ...(user === '' ? {} : { login: { user, password } }) };
}

function isMailbox(text: string): boolean {
  return ADDRESS.test(NAMED.exec(text)?.[1] ?? text);
}
