import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

interface Cookie {
  /** As it was received. */
  readonly value: string | undefined;
  set(value: string, maxAgeSeconds: number): void;
  clear(): void;
}

export interface Cookies {
  readonly session: Cookie;
  readonly browser: Cookie;
  /** The sign-in at the issuer that this browser has begun. */
  readonly flow: Cookie;
}

const SECURE_PREFIX = '__Host-';

/**
 * HttpOnly hides the cookie from scripts. SameSite=Lax keeps it from requests of other sites, while
 * links from a mail still arrive signed in. Behind TLS it is Secure and, by its prefix, bound to
 * this host.
 */
export function cookiesOf(context: Context, isHttps: boolean): Cookies {
  const cookie = (ownName: string, sameSite: 'Lax' | 'Strict'): Cookie => {
    const name = `${isHttps ? SECURE_PREFIX : ''}${ownName}`;
    const set = (value: string, maxAge: number) =>
      setCookie(context, name, value, { httpOnly: true, sameSite, secure: isHttps, path: '/', maxAge });
    return { value: getCookie(context, name), set, clear: () => set('', 0) };
  };
  return {
    session: cookie('gateway_session', 'Lax'),
    browser: cookie('gateway_browser', 'Lax'),
    // Only the page that the issuer sends the browser back to needs it.
    flow: cookie('gateway_oidc', 'Strict'),
  };
}
