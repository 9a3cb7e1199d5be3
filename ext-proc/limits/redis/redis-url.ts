import { REDIS_URL } from '#core/config/stores.ts';
import { RedisRefused } from './redis-errors.ts';

/**
 * `redis://user:password@host:port/database`, or `rediss://` for TLS. Several hosts, separated by
 * commas, are the first nodes of a cluster. The parameters for files of TLS are those of
 * PostgreSQL's URLs: `?sslrootcert=…&sslcert=…&sslkey=…`.
 */
export interface RedisAddress {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** Absent: no TLS. */
  readonly tls?: RedisTlsFiles;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
}

/** Paths of PEM files. */
export interface RedisTlsFiles {
  /** Authorities to trust instead of those of Node. */
  readonly authority?: string;
  /** Client certificate, for servers that require one. */
  readonly client?: { readonly certificate: string; readonly privateKey: string };
}

const DEFAULT_PORT = 6379;
const FILE_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'];

/** Throws RedisRefused. Its message does not have the URL, which may contain a password. */
export function parseRedisUrl(url: string): RedisAddress {
  const [, scheme, credentials = '', hosts = '', database = '', query = ''] = REDIS_URL.exec(url) ?? [];
  if (scheme === undefined) {
    throw new RedisRefused(
      'the Redis URL must look like redis://user:password@host:port/database, with rediss for TLS',
    );
  }
  const [username = '', ...rest] = credentials.split(':');
  const password = rest.join(':');
  return {
    nodes: hosts.split(',').map(parseNode),
    ...tlsFiles(scheme === 'rediss', new URLSearchParams(query)),
    ...(username === '' ? {} : { username: decoded(username) }),
    ...(password === '' ? {} : { password: decoded(password) }),
    database: database === '' ? 0 : Number(database),
  };
}

function tlsFiles(isTls: boolean, query: URLSearchParams): Pick<RedisAddress, 'tls'> {
  const files = [...query].filter(([, path]) => path !== '');
  if (
    files.length !== query.size ||
    files.some(([name]) => !FILE_PARAMETERS.includes(name)) ||
    (files.length > 0 && !isTls)
  ) {
    throw new RedisRefused(
      `after a ? the Redis URL may only name files for TLS (rediss://): ${FILE_PARAMETERS.join(', ')}`,
    );
  }
  if (!isTls) return {};
  const { sslrootcert: authority, sslcert: certificate, sslkey: privateKey } = Object.fromEntries(files);
  if ((certificate === undefined) !== (privateKey === undefined)) {
    throw new RedisRefused('sslcert and sslkey in the Redis URL belong together');
  }
  return {
    tls: {
      ...(authority === undefined ? {} : { authority }),
      ...(certificate === undefined || privateKey === undefined ? {} : { client: { certificate, privateKey } }),
    },
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
