import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { envelopeOf } from '#core/errors/refusal.ts';
import { admittedRequest, provider } from '../admitted-request.fixture.ts';
import { refusalOf, statusFailure, withoutSecrets } from './provider-failure.ts';
import { redactSecrets, secretsOf } from './redact-secrets.ts';

const KEY = 'sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6';
const PIECE = 8;

/** The message that a client reads after a provider's 400. */
function told(message: string, param?: string, key = KEY): string {
  const failed = withoutSecrets(statusFailure(400, { error: { message, param } }), [key]);
  return JSON.stringify(envelopeOf(refusalOf(admittedRequest(), failed)).error);
}

function piecesIn(text: string, key = KEY): string[] {
  const pieces = [];
  for (let at = 0; at + PIECE <= key.length; at++) pieces.push(key.slice(at, at + PIECE));
  return pieces.filter((piece) => text.includes(piece));
}

describe("a provider's key", () => {
  test.each([990, 960, 999, 1000, 3960, 3990])('does not survive across the cut, after %i characters', (length) => {
    expect(piecesIn(told(`${'x '.repeat(length / 2)}${KEY}`))).toEqual([]);
  });

  test('leaves no piece wherever the text is cut, and wherever the key is', () => {
    const key = fc.stringMatching(/^[A-Za-z0-9_-]{16,64}$/);
    const around = fc.string({ maxLength: 1200 });
    fc.assert(
      fc.property(key, around, around, fc.nat(64), (secret, before, after, cut) => {
        // Echoed whole, or cut by the provider itself.
        const echoed = secret.slice(0, Math.max(PIECE, cut));
        expect(piecesIn(redactSecrets(`${before}${echoed} ${after}`, [secret]), secret)).toEqual([]);
        const said = JSON.parse(told(`${before}${echoed}${after}`, echoed, secret));
        expect(piecesIn(`${said.message} ${said.param ?? ''}`, secret)).toEqual([]);
      }),
    );
  });

  test('that has the same beginning as another one redacts the other too', () => {
    const other = 'sk-proj-Zz9Yy8Xx7Ww6Vv5';
    expect(redactSecrets(`The value ${other} is odd, and so is ${other.slice(0, 12)}.`, [KEY])).toBe(
      'The value [redacted] is odd, and so is [redacted].',
    );
  });

  test("changes nothing in the gateway's own words", () => {
    const body = { error: { message: 'Your input was flagged.', code: 'moderation' } };
    const failed = withoutSecrets(statusFailure(403, body), ['sk-provider-refused-content-of-request']);
    expect(JSON.stringify(envelopeOf(refusalOf(admittedRequest(), failed)))).toContain('provider refused the content');
  });

  test('is taken out of param too', () => {
    expect(told('top_k is odd', `tools.${KEY}`)).not.toContain('A1b2');
    expect(JSON.parse(told('top_k is odd', `tools.${KEY}`)).param).toBe('tools.[redacted]');
  });

  test.each([
    ...['sk-…O5p6', 'sk-...O5p6', 'sk-proj-****O5p6', 'sk-proj-A1b2***************O5p6', 'sk-p**O5p6'],
    ...['sk-proj-A1b2C3d4…', '***O5p6', 'O5p6', 'sk-p', 'xa***9Q', 'sk-other-provider-key-of-a-relay'],
    ...['Bearer abcdefgh12345678', `${KEY}${KEY}`, 'org-AbCdEf123456', 'proj_AbCdEf123456'],
    'AIzaSyA1234567890abcdefgh',
    ...['Bearer 12|abcdefgh', 'Bearer odd!|:;<>{}12345678'],
    ...['eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJnYXRld2F5In0.c2ln-bmF0_dXJl', 'ASIAQWERTYUIOP12345Z'],
  ])('is recognized as %s', (form) => {
    const text = redactSecrets(`The value ${form} is odd.`, [KEY]);
    expect(text).toBe('The value [redacted] is odd.');
  });

  test.each([
    "Invalid 'messages[0].content': **bold** text, 2**10, wait... and so on…",
    'maximum of 4096 tokens... got 5000',
    'Unsupported value: org_chart, project_id, sky-blue, task-list-of-items',
  ])('is not found where there is none: %s', (text) => {
    expect(redactSecrets(text, [KEY])).toBe(text);
  });

  test('is not searched if the provider has none', () => {
    expect(redactSecrets('top_k is odd', [])).toBe('top_k is odd');
  });

  test('is redacted beside values of headers and of the query, encoded too; short ones are words', () => {
    const headers = { 'x-token': 'Token aGVhZGVyLXNlY3JldA', 'x-team': 'chat' };
    const secrets = secretsOf(provider('alpha', { apiKey: KEY, headers, query: { code: 'a+b/c=secret of query' } }));
    const said = `chat: ${KEY}, aGVhZGVyLXNlY3JldA, ?code=a%2Bb%2Fc%3Dsecret%20of%20query and a+b/c=secret of query`;
    expect(redactSecrets(said, secrets)).toBe('chat: [redacted], [redacted], ?code=[redacted] and [redacted]');
  });

  test.each([
    { kind: 'aws', accessKeyId: 'ASIAIDENTITY', secretAccessKey: 'SecretOfAws', sessionToken: 'SessionOfAws' } as const,
    { kind: 'oauth2', id: 'client', secret: 'SecretOfClient' } as const,
  ])('of $kind', (credentials) => {
    const { kind: _, ...values } = credentials;
    const said = Object.values(values).join(' ');
    const shown = redactSecrets(said, secretsOf({ ...provider('alpha'), credentials }));
    expect(shown.replaceAll('[redacted]', '').trim()).toBe(credentials.kind === 'aws' ? '' : 'client');
  });
});
