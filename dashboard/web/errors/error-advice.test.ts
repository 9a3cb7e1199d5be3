import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '#core/errors/error-codes.ts';
import { findErrors, readableMessage } from './error-advice.ts';

const all = findErrors('').flatMap(({ errors }) => errors);
const retryOf = (code: string) => all.find((error) => error.code === code)?.retry;

describe('error codes for people', () => {
  it('has every code once, by ascending status, each status with a title', () => {
    expect(all.map(({ code }) => code).sort()).toEqual(Object.keys(ERROR_CODES).sort());
    const groups = findErrors('');
    expect(groups.map(({ status }) => status)).toEqual(groups.map(({ status }) => status).toSorted((a, b) => a - b));
    expect(groups.filter(({ title }) => title === '')).toEqual([]);
  });

  it('says for each whether to retry, as specified', () => {
    for (const code of ['request_timeout', 'upstream_error', 'no_capacity', 'rpm_exceeded', 'tpm_exceeded'])
      expect(retryOf(code), code).toMatch(/^Yes/);
    for (const { code, entry } of all) {
      const fixFirst =
        [400, 401, 403, 413, 422].includes(entry.status) || code === 'model_not_found' || code === 'route_not_found';
      if (fixFirst) expect(retryOf(code), code).toMatch(/^No\./);
    }
    expect(retryOf('insufficient_credits')).toBe(
      'No. It fails again until there is more credit, or the request can cost less.',
    );
    expect(retryOf('daily_budget_exceeded')).toMatch(/^Not before 00:00 UTC/);
  });

  it('says that only broken streams are billed', () => {
    expect(all.filter(({ billed }) => billed !== 'Never.').map(({ code }) => code)).toEqual([
      'request_timeout',
      'internal_error',
      'upstream_error',
    ]);
  });

  it('is found by code, status and words', () => {
    const codes = (search: string) => findErrors(search).flatMap(({ errors }) => errors.map(({ code }) => code));
    expect(codes('KEY_REVOKED')).toEqual(['key_revoked']);
    expect(codes('402')).toEqual(['insufficient_credits']);
    expect(codes('budget utc')).toEqual(['daily_budget_exceeded']);
    expect(codes('no such words')).toEqual([]);
  });

  it('shows no template, and no message that each request has for itself', () => {
    for (const { entry } of all) expect(readableMessage(entry) ?? '').not.toMatch(/[{}]/);
    expect(readableMessage(ERROR_CODES.invalid_request)).toBeUndefined();
  });
});
