import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

/**
 * Cookies of the session and of the known browser: received values, and setters for the response.
 */
export interface Cookies {
  readonly token: string | undefined;
  readonly browserToken: string | undefined;
  setToken(token: string, maxAgeSeconds: number): void;
  setBrowserToken(token: string, maxAgeSeconds: number): void;
  clearToken(): void;
}

/**
 * HttpOnly hides the cookie from scripts. SameSite=Lax keeps it from requests of other sites, while
 * links from a mail still arrive signed in. Behind TLS it is Secure and, by its prefix, bound to
 * this host.
 */
const NAME = 'gateway_session';
const BROWSER_NAME = 'gateway_browser';
const SECURE_PREFIX = '__Host-';

export function sessionCookie(context: Context, isHttps: boolean): Cookies {
  const prefix = isHttps ? SECURE_PREFIX : '';
  const name = `${prefix}${NAME}`;
  const browserName = `${prefix}${BROWSER_NAME}`;
  const options = { httpOnly: true, sameSite: 'Lax', secure: isHttps, path: '/' } as const;
  return {
    token: getCookie(context, name),
    setToken: (token, maxAgeSeconds) => setCookie(context, name, token, { ...options, maxAge: maxAgeSeconds }),
    browserToken: getCookie(context, browserName),
    setBrowserToken: (token, maxAgeSeconds) =>
      setCookie(context, browserName, token, { ...options, maxAge: maxAgeSeconds }),
    clearToken: () => setCookie(context, name, '', { ...options, maxAge: 0 }),
  };
}
