import { describe, expect, it } from 'vitest';
import type { SignedIn } from '#database/sign-in/sessions.ts';
import type { Settings } from '../http/settings.ts';
import { sessionView } from './session.ts';

const SETTINGS: Settings = {
  api: { host: '0.0.0.0', port: 8080 },
  apiSpeaksTls: false,
  apis: [],
  privateNetworks: [],
  trustedProxies: [],
  session: { idleMs: 604_800_000, absoluteMs: 2_592_000_000, freshPasswordMs: 600_000 },
  signIn: { password: true },
  brand: {},
};

function signedIn(isOperator = false): SignedIn {
  return {
    session: { id: 'ses-1', createdAtMs: 1, lastSeenAtMs: 2, expiresAtMs: 3, address: '::1' },
    user: { id: 'usr-1', email: 'a@example.com', isOperator },
    memberships: [{ organizationId: 'org-1', name: 'Acme', role: 'member', suspended: true }],
    invitations: [],
    beganBy: 'password',
    passwordAgeMs: 0,
    passwordHandedOut: false,
  };
}

function view(origin: string, change: Partial<Settings> = {}, user = signedIn()) {
  const settings = () => ({ ...SETTINGS, ...change });
  const untrustedProxies = { note: () => {}, newest: () => '10.0.0.5' };
  return sessionView(user, { address: '::1', origin }, { settings, untrustedProxies });
}

describe('the base URL of the API', () => {
  it('is on the host that the browser uses, with the port of the gateway', () => {
    expect(view('http://gateway.example:8081').apiUrl).toBe('http://gateway.example:8080/v1');
    expect(view('https://gateway.example').apiUrl).toBe('http://gateway.example:8080/v1');
    expect(view('http://[::1]:8081').apiUrl).toBe('http://[::1]:8080/v1');
  });

  it('uses TLS if the gateway does, and leaves out the default port', () => {
    expect(view('http://gateway.example:8081', { apiSpeaksTls: true }).apiUrl).toBe('https://gateway.example:8080/v1');
    const usual = { apiSpeaksTls: true, api: { host: '::', port: 443 } };
    expect(view('http://gateway.example:8081', usual).apiUrl).toBe('https://gateway.example/v1');
  });

  it('is the configured one', () => {
    const apiUrl = 'https://api.example.com/v1';
    expect(view('http://gateway.example:8081', { apiUrl, apiSpeaksTls: true }).apiUrl).toBe(apiUrl);
  });

  it('is valid even if the host is unknown', () => {
    expect(view('http://').apiUrl).toBe('http://localhost:8080/v1');
  });
});

describe('a session', () => {
  it('shows the organizations with the effective role', () => {
    const choice = { id: 'org-1', name: 'Acme', suspended: true };
    expect(view('http://a').organizations).toEqual([{ ...choice, role: 'member' }]);
    expect(view('http://a', {}, signedIn(true)).organizations).toEqual([{ ...choice, role: 'operator' }]);
  });

  it('says where to top up, if there is such a page, and nothing about the session itself', () => {
    expect(view('http://a', { topUpUrl: 'https://pay.example/' }).topUpUrl).toBe('https://pay.example/');
    expect(Object.keys(view('http://a'))).toEqual(['user', 'organizations', 'apiUrl', 'apis', 'signedInBy']);
  });

  it('tells only operators of an untrusted proxy, until the configuration names it', () => {
    expect(view('http://a', {}, signedIn(true)).untrustedProxy).toBe('10.0.0.5');
    expect(view('http://a', { trustedProxies: ['10.0.0.0/8'] }, signedIn(true))).not.toHaveProperty('untrustedProxy');
    expect(view('http://a')).not.toHaveProperty('untrustedProxy');
  });
});
