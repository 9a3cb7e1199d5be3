import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

/**
 * Cookies of the session, the known browser and a sign-in at the issuer: received values, and
 * setters for the response.
 */
export interface Cookies {
  readonly token: string | undefined;
  readonly browserToken: string | undefined;
  setToken(token: string, maxAgeSeconds: number): void;
  setBrowserToken(token: string, maxAgeSeconds: number): void;
  clearToken(): void;
  /** The sign-in at the issuer that this browser has begun. */
  readonly flow: string | undefined;
  setFlow(flow: string, maxAgeSeconds: number): void;
  clearFlow(): void;
}

/**
 * HttpOnly hides the cookie from scripts. SameSite=Lax keeps it from requests of other sites, while
 * links from a mail still arrive signed in. Behind TLS it is Secure and, by its prefix, bound to
 * this host.
 */
const NAME = 'gateway_session';
const BROWSER_NAME = 'gateway_browser';
const FLOW_NAME = 'gateway_oidc';
const SECURE_PREFIX = '__Host-';

export function sessionCookie(context: Context, isHttps: boolean): Cookies {
  const prefix = isHttps ? SECURE_PREFIX : '';
  const name = `${prefix}${NAME}`;
  const browserName = `${prefix}${BROWSER_NAME}`;
  const flowName = `${prefix}${FLOW_NAME}`;
  const options = { httpOnly: true, sameSite: 'Lax', secure: isHttps, path: '/' } as const;
  return {
    token: getCookie(context, name),
    setToken: (token, maxAgeSeconds) => setCookie(context, name, token, { ...options, maxAge: maxAgeSeconds }),
    browserToken: getCookie(context, browserName),
    setBrowserToken: (token, maxAgeSeconds) =>
      setCookie(context, browserName, token, { ...options, maxAge: maxAgeSeconds }),
    flow: getCookie(context, flowName),
    // Only the page that the issuer sends the browser back to needs it.
    setFlow: (flow, maxAge) => setCookie(context, flowName, flow, { ...options, sameSite: 'Strict', maxAge }),
    clearFlow: () => setCookie(context, flowName, '', { ...options, maxAge: 0 }),
    clearToken: () => setCookie(context, name, '', { ...options, maxAge: 0 }),
  };
}
