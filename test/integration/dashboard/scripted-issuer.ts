import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { SessionView } from '#contract/session.ts';
import type { SignInConfig } from '#core/config/dashboard-config.ts';
import type { Browser, Reply } from './dashboard-browser.ts';

/** An issuer on loopback whose metadata and tokens a test controls. */
export interface ScriptedIssuer {
  readonly url: string;
  readonly signIn: SignInConfig;
  /** Paths of the requests that were received. */
  readonly asked: string[];
  /** Members that are added to the metadata or replace its own. */
  metadata: Readonly<Record<string, unknown>>;
  /** Claims that override the default ones; `undefined` omits one. */
  claims: Readonly<Record<string, unknown>>;
  userInfo: Readonly<Record<string, unknown>>;
  /** Overrides for the header of ID tokens. With `alg: none`, tokens have no signature. */
  header: Readonly<Record<string, unknown>>;
  /** The signing key. The key set has only the issuer's own public key. */
  key: KeyObject;
  /** Handlers that respond to a path instead of the issuer. */
  readonly instead: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  close(): Promise<void>;
}

export const CLIENT = { clientId: 'gateway', clientSecret: 'client-secret' };
export const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

export async function startScriptedIssuer(): Promise<ScriptedIssuer> {
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://issuer');
    issuer.asked.push(pathname);
    const instead = issuer.instead.get(pathname);
    if (instead) return instead(request, response);
    const send = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (pathname === '/jwks') return send({ keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'one' }] });
    if (pathname === '/userinfo') return send({ sub: issuer.claims.sub, ...issuer.userInfo });
    if (pathname === '/token') {
      void text(request).then((body) => {
        const nonce = new URLSearchParams(body).get('code') ?? '';
        send({ access_token: 'access', token_type: 'bearer', id_token: idToken(issuer, nonce) });
      });
      return;
    }
    return send({
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      jwks_uri: `${issuer.url}/jwks`,
      userinfo_endpoint: `${issuer.url}/userinfo`,
      end_session_endpoint: `${issuer.url}/sign-out`,
      id_token_signing_alg_values_supported: ['RS256'],
      ...issuer.metadata,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const oidc = { issuer: url, ...CLIENT, scopes: ['openid', 'email'], operatorClaim: { name: 'groups', value: 'ops' } };
  const issuer: ScriptedIssuer = {
    url,
    signIn: { password: true, oidc },
    asked: [],
    metadata: {},
    claims: {},
    userInfo: {},
    header: {},
    key: own.privateKey,
    instead: new Map(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return issuer;
}

/** Makes an ID token. The code of the sign-in is its nonce. */
function idToken({ url, claims, header, key }: ScriptedIssuer, nonce: string): string {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: url, aud: CLIENT.clientId, iat: now, exp: now + 300, auth_time: now, nonce };
  const head = { alg: 'RS256', kid: 'one', ...header };
  const signed = [head, { ...usual, ...claims }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = head.alg === 'none' ? '' : sign('sha256', Buffer.from(signed.join('.')), key).toString('base64url');
  return [...signed, signature].join('.');
}

/**
 * Begins a sign-in with the request body `asks`. Returns the query of the issuer's response, whose
 * token will have the claims.
 */
export async function begin(
  browser: Browser,
  issuer: ScriptedIssuer,
  claims: Readonly<Record<string, unknown>> = {},
  asks?: { readonly again: true },
): Promise<string> {
  const begun = await browser.send<{ url: string }>('POST', '/api/oidc/authorization', asks);
  if (begun.status !== 200) throw new Error(`no sign-in began: ${begun.text}`);
  const { searchParams } = new URL(begun.body.url);
  issuer.claims = { email_verified: true, ...claims };
  return `code=${searchParams.get('nonce')}&state=${searchParams.get('state')}`;
}

export const finish = (browser: Browser, query: string): Promise<Reply<SessionView>> =>
  browser.send('POST', '/api/oidc/session', { query });

export async function signInAt(
  browser: Browser,
  issuer: ScriptedIssuer,
  claims: Readonly<Record<string, unknown>>,
): Promise<Reply<SessionView>> {
  return finish(browser, await begin(browser, issuer, claims));
}
