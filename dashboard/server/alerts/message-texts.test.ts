import { expect, it } from 'vitest';
import { alertText } from './message-texts.ts';

const LOW = { kind: 'balance.low', content: { balance_nano_usd: '98000000', threshold_nano_usd: '5000000000' } };
const OF_ACME = { ...LOW, organizationId: 'org-1', organizationName: 'Acme\r\nBcc: x@example.com' };

it('names the organization on the line of the subject, and leads to the page for the alert', () => {
  const text = alertText(OF_ACME, new URL('https://dashboard.example'));
  expect(text?.subject).toBe('Balance below 5 USD (Acme Bcc: x@example.com)');
  expect(text?.text).toMatch(/^The balance is 0\.098 USD\..*\n\nhttps:\/\/dashboard\.example\/o\/org-1\/credits\n$/);
});

it('has no link without the address of the dashboard, and no organization for operators', () => {
  expect(alertText(OF_ACME, undefined)?.text).not.toContain('http');
  const losses = { kind: 'ledger.losses', content: { count: 1, nano_usd: '1000000000' } };
  expect(alertText(losses, new URL('https://dashboard.example'))?.subject).toBe('There are losses');
});
