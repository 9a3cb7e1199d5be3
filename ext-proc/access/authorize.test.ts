import { describe, expect, it } from 'vitest';
import { envelopeOf } from '#core/errors/refusal.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { authorizeCaller } from './authorize.ts';
import type { Route } from './route.ts';

const CHAT: Route = { name: 'chat', scope: 'chat', query: '' };
const MODELS: Route = { name: 'models', query: '' };

describe('authorizeCaller', () => {
  it('checks the address, then the organization, then the scope', () => {
    const allWrong = { ipRanges: ['10.0.0.0/8'], scopes: new Set(['usage:read'] as const) };
    const suspended = { suspended: true };
    expect(authorizeCaller(principalWith(allWrong, suspended), '192.0.2.1', CHAT)?.code).toBe('ip_not_allowed');
    expect(authorizeCaller(principalWith(allWrong, suspended), '10.1.2.3', CHAT)?.code).toBe('org_suspended');
    const refusal = authorizeCaller(principalWith(allWrong), '10.1.2.3', CHAT);
    expect(refusal?.code).toBe('missing_scope');
    expect(refusal && envelopeOf(refusal).error.message).toContain('chat');
    expect(authorizeCaller(principalWith(), '192.0.2.1', CHAT)).toBeUndefined();
  });

  it('needs no scope for the models, but everything else', () => {
    const noScopes = { scopes: new Set<never>() };
    expect(authorizeCaller(principalWith(noScopes), '', MODELS)).toBeUndefined();
    expect(authorizeCaller(principalWith(noScopes, { suspended: true }), '', MODELS)?.code).toBe('org_suspended');
    expect(authorizeCaller(principalWith({ ...noScopes, ipRanges: ['::1'] }), '127.0.0.1', MODELS)?.code).toBe(
      'ip_not_allowed',
    );
  });

  it('refuses everybody if the address is unknown or the list is empty', () => {
    expect(authorizeCaller(principalWith({ ipRanges: ['0.0.0.0/0', '::/0'] }), '', MODELS)?.code).toBe(
      'ip_not_allowed',
    );
    expect(authorizeCaller(principalWith({ ipRanges: [] }), '127.0.0.1', MODELS)?.code).toBe('ip_not_allowed');
  });
});
