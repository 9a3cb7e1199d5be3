import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '#core/errors/error-codes.ts';
import { resultChoice, resultChoices, resultFilter } from './request-filter.ts';
import { statusLabel, statusTone } from './request-labels.ts';

describe('the result of a request', () => {
  it('is told by its tone: a broken stream has status 200 and failed all the same', () => {
    expect(statusTone({ status: 200 })).toBe('good');
    expect(statusTone({ status: 200, code: 'upstream_error' })).toBe('bad');
    expect(statusTone({ status: 429, code: 'rpm_exceeded' })).toBe('warn');
    expect(statusTone({ status: 503, code: 'no_capacity' })).toBe('bad');
    expect(statusTone({ status: 499 })).toBe('neutral');
  });

  it('names a client that left', () => {
    expect(statusLabel({ status: 499 })).toBe('499 client left');
    expect(statusLabel({ status: 429, code: 'rpm_exceeded' })).toBe('429 rpm_exceeded');
    expect(statusLabel({ status: 200 })).toBe('200');
  });
});

describe('the filter of results', () => {
  it('offers every error code and every status, each once', () => {
    const values = resultChoices('').map(({ value }) => value);
    expect(new Set(values).size).toBe(values.length);
    for (const code of Object.keys(ERROR_CODES)) expect(values).toContain(code);
    for (const status of ['429', '503', '499']) expect(values).toContain(status);
  });

  it('comes back from the URL as it was chosen', () => {
    for (const { value } of resultChoices('')) expect(resultChoice(resultFilter(value))).toBe(value);
  });

  it('shows what a link asks for though nobody could choose it', () => {
    expect(resultChoices('418').at(-1)).toEqual({ value: '418', label: '418' });
  });
});
