import { isIPv4 } from 'node:net';

/** A wildcard address can be listened on, not connected to. */
export function loopbackFor(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** `host`: a name or an address, with brackets or without. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}
