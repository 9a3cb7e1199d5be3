import { describe, expect, it } from 'vitest';
import { auditFilter, readAuditUrl } from './audit-url.ts';

const DAY_MS = 86_400_000;

describe('the search of the audit log', () => {
  it('takes from a URL what can be, and nothing else', () => {
    expect(readAuditUrl({ actor: 'ada', action: 'key.revoked', range: '7d' })).toEqual({
      ...{ actor: 'ada', action: 'key.revoked', range: '7d' },
    });
    expect(readAuditUrl({ actor: 7, action: 'key.eaten', range: '8d', from: 'x' })).toEqual({ actor: '7' });
  });

  it('becomes what the server is asked for', () => {
    expect(auditFilter({}, 10 * DAY_MS)).toEqual({});
    expect(auditFilter({ actor: 'ada', range: '7d' }, 10 * DAY_MS)).toEqual({ actor: 'ada', fromMs: 3 * DAY_MS });
  });
});
