import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode, type ErrorEntry } from '#core/errors/error-codes.ts';
import { envelopeOf, type Refusal, refuse, renderRefusal } from '#core/errors/refusal.ts';
import { errorTable, tableIn, withTable } from '#scripts/error-table.ts';
import { sourceFiles } from './fixtures/source-files.ts';

/** The specification's table of codes, statuses and types, verbatim. */
const SPECIFIED = `
context_length_exceeded 400 invalid_request_error
image_url_not_supported 400 invalid_request_error
invalid_json 400 invalid_request_error
invalid_request 400 invalid_request_error
json_mode_no_stream 400 invalid_request_error
json_mode_not_supported 400 invalid_request_error
max_tokens_exceeds_cap 400 invalid_request_error
missing_messages 400 invalid_request_error
missing_model 400 invalid_request_error
n_not_allowed 400 invalid_request_error
reasoning_effort_not_supported 400 invalid_request_error
tools_not_supported 400 invalid_request_error
unknown_parameter 400 invalid_request_error
vision_not_available 400 invalid_request_error
invalid_api_key 401 authentication_error
ip_not_allowed 401 authentication_error
key_expired 401 authentication_error
key_revoked 401 authentication_error
insufficient_credits 402 insufficient_credits
missing_scope 403 permission_error
model_not_allowed 403 permission_error
org_suspended 403 permission_error
generation_not_found 404 not_found_error
model_not_found 404 not_found_error
route_not_found 404 not_found_error
request_timeout 408 timeout_error
idempotency_key_in_flight 409 invalid_request_error
request_too_large 413 invalid_request_error
idempotency_key_reused 422 invalid_request_error
daily_budget_exceeded 429 rate_limit_error
rpm_exceeded 429 rate_limit_error
tpm_exceeded 429 rate_limit_error
internal_error 500 api_error
upstream_config_error 500 api_error
no_capacity 503 service_unavailable_error
upstream_error 503 api_error`;

const entries = Object.entries<ErrorEntry>(ERROR_CODES);
const placesOf = (entry: ErrorEntry) => [...entry.message.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

describe('error codes', () => {
  it('are those of the specification’s table', () => {
    expect(entries.map(([code, { status, type }]) => `${code} ${status} ${type}`)).toEqual(
      SPECIFIED.trim().split('\n'),
    );
  });

  it('have retry-after where the specification says so', () => {
    const withRetry = entries.filter(([, entry]) => entry.retryAfter !== undefined);
    expect(withRetry.map(([code, entry]) => [code, entry.retryAfter])).toEqual([
      ['daily_budget_exceeded', 'window'],
      ['rpm_exceeded', 'window'],
      ['tpm_exceeded', 'window'],
      ['no_capacity', 10],
    ]);
  });

  it('are billed only if they can happen inside a stream', () => {
    const billed = entries.filter(([, entry]) => entry.billed !== undefined).map(([code]) => code);
    expect(billed).toEqual(['request_timeout', 'internal_error', 'upstream_error']);
  });

  it('have messages and advice in whole sentences', () => {
    for (const [code, { message, advice }] of entries) {
      expect([code, message]).toEqual([code, expect.stringMatching(/^(\{problem\}|[A-Z].*[.…])$/)]);
      expect([code, advice]).toEqual([code, expect.stringMatching(/^[A-Z].*\.$/)]);
    }
  });
});

describe('a refusal', () => {
  it('fills every placeholder of its message, and inserts values verbatim', () => {
    for (const [code, entry] of entries) {
      const values = Object.fromEntries(placesOf(entry).map((name) => [name, `<${name} "$&" {other}>`]));
      const refusal: Refusal = { kind: 'refusal', code: code as ErrorCode, values };
      const { message } = envelopeOf(refusal).error;
      for (const name of placesOf(entry)) expect(message).toContain(`<${name} "$&" {other}>`);
      expect(message).not.toMatch(new RegExp(`\\{(${placesOf(entry).join('|') || 'none'})\\}`));
      expect(JSON.parse(renderRefusal(refusal).body.toString())).toEqual(envelopeOf(refusal));
    }
  });

  it('does not compile with a missing or surplus value, or without the end of its window', () => {
    // @ts-expect-error: the message has two placeholders
    refuse('route_not_found');
    // @ts-expect-error: the message has another placeholder
    refuse('route_not_found', { method: 'GET' });
    // @ts-expect-error: the message has no such placeholder
    refuse('missing_scope', { scope: 'chat', model: 'm' });
    // @ts-expect-error: the message has no placeholder
    refuse('no_capacity', { model: 'm' });
    // @ts-expect-error: when does the window open again?
    refuse('tpm_exceeded');
    // @ts-expect-error: when does the window open again?
    refuse('rpm_exceeded', { problem: 'x' }, {});
    expect(refuse('tpm_exceeded', { key_or_organization: 'x' }, { retryAfterSeconds: 3 }).retryAfterSeconds).toBe(3);
  });

  it('has the envelope of the specification', () => {
    const rendered = renderRefusal(refuse('missing_model'));
    expect(rendered.status).toBe(400);
    expect(rendered.headers).toEqual({ 'content-type': 'application/json' });
    expect(JSON.parse(rendered.body.toString())).toEqual({
      error: {
        message: ERROR_CODES.missing_model.message,
        type: 'invalid_request_error',
        code: 'missing_model',
        param: 'model',
        metadata: {},
      },
    });
    expect(renderRefusal(refuse('no_capacity')).headers['retry-after']).toBe('10');
    expect(
      renderRefusal(refuse('tpm_exceeded', { key_or_organization: 'x' }, { retryAfterSeconds: 7 })).headers[
        'retry-after'
      ],
    ).toBe('7');
    // SDKs repeat every 429 and 500 unless this header forbids it.
    const forbidding = entries.filter(([, { mayRetry }]) => mayRetry === false).map(([code]) => code);
    expect(forbidding).toEqual(['daily_budget_exceeded', 'upstream_config_error']);
    const wrong = renderRefusal(refuse('upstream_config_error', { model: 'm' }));
    expect(wrong.headers['x-should-retry']).toBe('false');
    expect(renderRefusal(refuse('internal_error')).headers).not.toHaveProperty('x-should-retry');
    expect('param' in envelopeOf(refuse('internal_error')).error).toBe(false);
    expect(
      envelopeOf(refuse('invalid_request', { problem: 'x' }, { param: 'n', metadata: { a: 1 } })).error,
    ).toMatchObject({ param: 'n', metadata: { a: 1 } });
  });
});

/** Codes are strings in a table, so no tool finds unused ones. */
describe('source code and error codes', () => {
  const sources = sourceFiles(['core', 'database', 'ext-proc']).filter(
    ({ path }) => path !== 'core/errors/error-codes.ts',
  );
  const used = (code: string) => sources.some(({ text }) => text.includes(`'${code}'`));

  it.each(entries.map(([code]) => code))('%s is used', (code) => {
    expect(used(code)).toBe(true);
  });
});

describe('documentation and error codes', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');

  it('have the same table; if not: npm run generate', () => {
    expect(tableIn(page)).toBe(errorTable());
    expect(withTable(page)).toBe(page);
  });

  it('name the same codes in the same order', () => {
    const named = [...tableIn(page).matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);
    expect(named).toEqual(entries.map(([code]) => code));
  });

  it('are compared so that a difference is noticed', () => {
    const changed = page.replace('| 402 |', '| 499 |');
    expect(changed).not.toBe(page);
    expect(tableIn(changed)).not.toBe(errorTable());
    expect(() => tableIn('no markers')).toThrow('errors:begin');
  });
});
