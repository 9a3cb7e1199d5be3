import { RedisRefused } from './refused.ts';

/** `redis://user:password@host:port/database`, or `rediss://` for TLS; several hosts, separated by commas, are the first nodes of a cluster. */
export interface RedisAddress {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
}

const DEFAULT_PORT = 6379;
const SHAPE = /^(rediss?):\/\/(?:([^@/]*)@)?([^/?#@]+)(?:\/(\d{0,5}))?$/;

/** Throws RedisRefused, without the URL in the message: it may hold a password. */
export function parseRedisUrl(url: string): RedisAddress {
  const [, scheme, credentials = '', hosts = '', database = ''] = SHAPE.exec(url) ?? [];
  if (scheme === undefined) {
    throw new RedisRefused(
      'the Redis URL must look like redis://user:password@host:port/database, with rediss for TLS',
    );
  }
  const [username = '', ...rest] = credentials.split(':');
  const password = rest.join(':');
  return {
    nodes: hosts.split(',').map(parseNode),
    tls: scheme === 'rediss',
    ...(username === '' ? {} : { username: decoded(username) }),
    ...(password === '' ? {} : { password: decoded(password) }),
    database: database === '' ? 0 : Number(database),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisRefused(
      'the Redis URL has a user or password in which a % is not followed by two hexadecimal digits',
    );
  }
}

function parseNode(text: string): { host: string; port: number } {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]{1,255}))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  if (host === undefined || number < 1 || number > 65_535)
    throw new RedisRefused('the Redis URL has a host or port that is none');
  return { host, port: number };
}
