import { isIPv4, isIPv6 } from 'node:net';

/** Readers of listen addresses and URLs. Each returns `undefined` for a malformed value. */

export interface Address {
  readonly host: string;
  readonly port: number;
}

const ADDRESS = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9.]{7,15})):(\d{1,5})$/;

/** `0.0.0.0:8080` or `[::]:8080`. Envoy binds to addresses, not to names. */
export function parseAddress(value: string): Address | undefined {
  const match = ADDRESS.exec(value);
  if (!match) return undefined;
  const [, v6, v4, digits] = match;
  const port = Number(digits);
  if (port < 1 || port > 65_535) return undefined;
  if (v6 !== undefined) return isIPv6(v6) ? { host: v6, port } : undefined;
  return v4 !== undefined && isIPv4(v4) ? { host: v4, port } : undefined;
}

export function formatAddress(address: Address): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** True if both would be bound to the same socket. */
export function overlap(a: Address, b: Address): boolean {
  return a.port === b.port && (a.host === b.host || isWildcard(a.host) || isWildcard(b.host));
}

function isWildcard(host: string): boolean {
  return /^[0.:]+$/.test(host);
}

const HTTP_URL = /^https?:\/\/[^\s@?#\\/][^\s@?#\\]{0,2000}$/i;
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*$/;

/** An http(s) URL without credentials, query and fragment. Keeps a path, without its last slash. */
export function parseBaseUrl(value: string): URL | undefined {
  if (!HTTP_URL.test(value)) return undefined;
  const url = URL.parse(value);
  if (url === null || url.port === '0') return undefined;
  if (!url.hostname.startsWith('[') && !HOST_NAME.test(url.hostname)) return undefined;
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

const PUBLIC_URL = /^https?:\/\/\S{1,2000}$/i;

/** A web page: any http or https URL without credentials. */
export function parsePublicUrl(value: string): string | undefined {
  const url = PUBLIC_URL.test(value) ? URL.parse(value) : null;
  return url === null || url.username !== '' || url.password !== '' ? undefined : url.href;
}

/** A public URL to which paths are appended: without query and fragment. Loses its last slash. */
export function parseUrlPrefix(value: string): string | undefined {
  return /[?#]/.test(value) ? undefined : parsePublicUrl(value)?.replace(/\/+$/, '');
}

/** The URL of a whole site: it has no path, query or fragment. */
export function parseSiteUrl(value: string): URL | undefined {
  const url = URL.parse(parseUrlPrefix(value) ?? '');
  return url?.pathname === '/' ? url : undefined;
}

/** A part of a URL without its escapes. `undefined`: they are malformed. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
