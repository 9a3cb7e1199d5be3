import { describe, expect, it } from 'vitest';
import { statusLabel, statusTone } from './request-labels.ts';

describe('the result of a request', () => {
  it('has a tone: a broken stream has status 200 but failed', () => {
    expect(statusTone({ status: 200 })).toBe('good');
    expect(statusTone({ status: 200, code: 'upstream_error' })).toBe('bad');
    expect(statusTone({ status: 429, code: 'rpm_exceeded' })).toBe('warn');
    expect(statusTone({ status: 503, code: 'no_capacity' })).toBe('bad');
    expect(statusTone({ status: 499 })).toBe('neutral');
  });

  it('names a client that left', () => {
    expect(statusLabel({ status: 499 })).toBe('499 client left');
    expect(statusLabel({ status: 429, code: 'rpm_exceeded' })).toBe('429 rpm_exceeded');
    expect(statusLabel({ status: 200, code: 'upstream_error' })).toBe('200, broken by upstream_error');
    expect(statusLabel({ status: 200 })).toBe('200');
  });
});
