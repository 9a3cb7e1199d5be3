import { type AddressInfo, createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import type { SmtpServer } from '#core/config/dashboard-config.ts';
import { sendMail } from '#dashboard/server/alerts/mail-transport.ts';
import { mailText } from '#dashboard/server/alerts/message-texts.ts';
import { opened } from '../../harness/opened.ts';
import { makeCertificate, type TestCertificate } from '../../provider/certificate.ts';
import { startMailServer } from './alert-receivers.ts';

describe('a mail server', () => {
  const server = opened(() => startMailServer({ user: 'gateway', password: 'pass word' }));

  const login = { user: 'gateway', password: 'pass word' };
  const send = (change: Partial<SmtpServer>, subject = 'Subject') => {
    const at = { host: '127.0.0.1', port: server.port, tls: false, login, ...change };
    const mail = { to: 'to@example.com', subject, text: 'Text\n', messageId: 'msg_1' };
    return sendMail({ server: at, from: 'Gateway <noreply@gateway.example>', operators: [] }, mail);
  };

  it('gets mails after a login, with a stable message id', async () => {
    expect(await send({})).toEqual({ kind: 'delivered', text: 'accepted by the mail server' });
    expect(server.mails.at(-1)).toMatchObject({ to: ['to@example.com'], text: 'Text\n' });
    expect(server.mails.at(-1)?.head).toContain('Message-ID: <msg_1@gateway.example>');
  });

  it('gets no password over a network without TLS', async () => {
    const before = server.mails.length;
    // Linux connects 0.0.0.0 to this machine, although it is not a loopback address.
    expect(await send({ host: '0.0.0.0' })).toMatchObject({ kind: 'failed' });
    expect(server.mails.length).toBe(before);
  });

  it('gets no mail over a network without TLS, unless the configuration allows it', async () => {
    const open = await startMailServer();
    const sendTo = (change: Partial<SmtpServer>) => {
      const at = { host: '0.0.0.0', port: open.port, tls: false, ...change };
      const mail = { to: 'to@example.com', subject: 'Link', text: 'https://g/link#t\n', messageId: 'msg_2' };
      return sendMail({ server: at, from: 'noreply@gateway.example', operators: [] }, mail);
    };
    expect(await sendTo({})).toMatchObject({ kind: 'failed', text: expect.stringMatching(/has no usable TLS/) });
    expect(open.mails).toEqual([]);
    expect(await sendTo({ host: '127.0.0.1' })).toMatchObject({ kind: 'delivered' });
    expect(await sendTo({ plaintext: true })).toMatchObject({ kind: 'delivered' });
    expect(await sendTo({ plaintext: true, login })).toMatchObject({ kind: 'failed' });
    expect(open.mails.length).toBe(2);
    await open.close();
  });

  it('that refuses or is unreachable is reported in our own words', async () => {
    expect((await send({ login: { user: 'gateway', password: 'wrong' } })).text).toMatch(
      /^the mail server refused the login/,
    );
    expect((await send({ port: 9 })).text).toBe('the mail server is not reachable');
  });

  it.each(['end', 'resetAndDestroy'] as const)('that loses the connection is not unreachable: %s', async (lose) => {
    const broken = createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket[lose]());
      socket.write('220 test\r\n');
    });
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    const { port } = broken.address() as AddressInfo;
    expect((await send({ port })).text).toBe('the connection to the mail server was lost');
    await new Promise((resolve) => broken.close(resolve));
  });

  it('whose certificate cannot be verified is reported with the reason', async () => {
    const [valid, expired] = [makeCertificate(), makeCertificate(Date.now() - 2 * DAY_MS, 'expired')];
    const trusted = getCACertificates('default');
    const textOf = async (certificate: TestCertificate, host: string, trusts: readonly TestCertificate[]) => {
      const secure = await startMailServer(login, certificate);
      setDefaultCACertificates([...trusted, ...trusts.map(({ cert }) => cert)]);
      const { text } = await send({ host, port: secure.port });
      setDefaultCACertificates(trusted);
      await secure.close();
      return text;
    };
    expect(await textOf(valid, '0.0.0.0', [])).toBe('the certificate of the mail server is not trusted');
    expect(await textOf(valid, '0.0.0.0', [valid])).toBe('the certificate of the mail server is for another name');
    expect(await textOf(expired, '0.0.0.0', [expired])).toBe('the certificate of the mail server has expired');
    expect(await textOf(valid, 'localhost', [valid])).toBe('accepted by the mail server');
    expect((await send({ tls: true })).text).toBe('the mail server has no usable TLS');
  });

  it('gets the names of customers on one line, so that they add no headers', async () => {
    const content = {
      organization: 'Acme\r\nBcc: victim@example.com\r\n\r\nBody',
      url: 'https://g/link#t',
      until: 'u',
    };
    const mail = mailText({ kind: 'invitation', content });
    expect(mail?.subject).toBe('Invitation to Acme Bcc: victim@example.\u2060com Body');
    await send({}, mail?.subject);
    expect(server.mails.at(-1)?.to).toEqual(['to@example.com']);
    expect(server.mails.at(-1)?.head).not.toMatch(/^Bcc:/im);
  });
});
