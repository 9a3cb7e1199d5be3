import { expect, it } from 'vitest';
import { alertText, mailText, slackBody } from './message-texts.ts';

const LOW = { kind: 'balance.low', content: { balance_nano_usd: '98000000', threshold_nano_usd: '5000000000' } };
const OF_ACME = { ...LOW, organizationId: 'org-1', organizationName: 'Acme\r\nBcc: x@example.com' };

it('names the organization in the subject, and links to the page of the alert', () => {
  const text = alertText(OF_ACME, new URL('https://dashboard.example'));
  expect(text?.subject).toBe('Balance below $5.00 (Acme Bcc: x@example.\u2060com)');
  expect(text?.text).toMatch(/^The balance is \$0\.09\..*\n\nhttps:\/\/dashboard\.example\/o\/org-1\/credits\n$/);
});

it('has no link without the URL of the dashboard, and no organization for operators', () => {
  expect(alertText(OF_ACME, undefined)?.text).not.toContain('http');
  const losses = { kind: 'ledger.losses', content: { count: 1, nano_usd: '1000000000' } };
  expect(alertText(losses, new URL('https://dashboard.example'))?.subject).toBe('There are losses');
});

it('rounds dollars to cents towards zero, and has unambiguous times', () => {
  const textOf = (balance: string) =>
    alertText({ ...LOW, content: { ...LOW.content, balance_nano_usd: balance } }, undefined)?.text;
  expect(textOf('57466973900')).toMatch(/^The balance is \$57\.46\. /);
  expect(textOf('1234567000000000')).toMatch(/^The balance is \$1,234,567\.00\. /);
  expect(textOf('-5019000000')).toMatch(/^The balance is -\$5\.01\. /);
  expect(textOf('4000000')).toMatch(/^The balance is less than \$0\.01\. /);
  expect(textOf('-4000000')).toMatch(/^The balance is less than \$0\. /);
  const expires = {
    kind: 'key.expires',
    content: { key_name: 'a', key_id: 'key-1', expires_at: '2026-11-24T13:05:59Z' },
  };
  expect(alertText(expires, undefined)?.text).toContain('expires on 24 November 2026, 13:05 UTC.');
});

it('contains no mention, link or image of a customer where Slack’s text is read as Markdown', () => {
  const content = { key_name: '@channel', key_id: 'key-1', key_note: '![a](https://b) <!here> [Sign in](https://c)' };
  const body = slackBody({ kind: 'key.expires', content }, undefined) ?? '';
  expect(JSON.parse(body).text).toContain('The key “@\u2060channel” (key-1)');
  expect(JSON.parse(body).text).toContain('![a] (https:\u2060//b) &lt;!here&gt; [Sign in] (https:\u2060//c)');
});

it('contains no link but its own, whatever names customers choose', () => {
  const [organization, url] = [
    'https://evil.example/sign-in or www.evil.example',
    'https://dashboard.example/link#token',
  ];
  const content = { organization, url, until: '2026-11-24T13:05:59Z' };
  const { subject, text } = mailText({ kind: 'invitation', content }) ?? { subject: '', text: '' };
  expect(text).toContain(`\n${url}\n`);
  const mail = `${subject}\n${text}`.replace(url, '');
  expect(mail).toContain('evil.\u2060example/sign-in');
  expect(mail).not.toMatch(/:\/\/|evil\.example/);
  const alert = alertText({ ...OF_ACME, organizationName: organization }, new URL('https://dashboard.example'));
  expect(alert?.subject).not.toMatch(/:\/\/|evil\.example/);
});

it('has no half of a character at the end of a cut note, since a receiver may refuse the alert', () => {
  const content = { key_name: 'a', key_id: 'key-1', key_note: `${'x'.repeat(199)}😀` };
  const { text } = JSON.parse(slackBody({ kind: 'key.expires', content }, undefined) ?? '');
  expect([text.isWellFormed(), text.includes('x'.repeat(199))]).toEqual([true, true]);
});
