import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

interface Cookie {
  /** The value that was received. */
  readonly value: string | undefined;
  set(value: string, maxAgeSeconds: number): void;
  clear(): void;
}

const SECURE_PREFIX = '__Host-';

/**
 * HttpOnly hides the cookie from scripts. SameSite=Lax excludes it from other sites' requests,
 * while links in mails still arrive signed in. Behind TLS the cookie is Secure, and its prefix
 * binds it to this host.
 */
export function cookiesOf(context: Context, isHttps: boolean) {
  const cookie = (ownName: string, sameSite: 'Lax' | 'Strict'): Cookie => {
    const name = `${isHttps ? SECURE_PREFIX : ''}${ownName}`;
    const set = (value: string, maxAge: number) =>
      setCookie(context, name, value, { httpOnly: true, sameSite, secure: isHttps, path: '/', maxAge });
    return { value: getCookie(context, name), set, clear: () => set('', 0) };
  };
  return {
    session: cookie('gateway_session', 'Lax'),
    browser: cookie('gateway_browser', 'Lax'),
    // The sign-in at the issuer that this browser has begun. Only the page to which the issuer
    // redirects needs it.
    flow: cookie('gateway_oidc', 'Strict'),
  };
}

export type Cookies = ReturnType<typeof cookiesOf>;
