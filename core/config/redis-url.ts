import { decoded } from './network-names.ts';

/**
 * `redis://user:password@host:port/database`, or `rediss://` for TLS. Several hosts, separated by
 * commas, are the first nodes of a cluster. The parameters for files of TLS are those of
 * PostgreSQL's URLs: `?sslrootcert=…&sslcert=…&sslkey=…`.
 */
export interface RedisAddress {
  readonly nodes: readonly RedisNode[];
  /** Absent: no TLS. */
  readonly tls?: RedisTlsFiles;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
}

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/** Paths of PEM files. */
export interface RedisTlsFiles {
  /** Authorities to trust instead of those of Node. */
  readonly authority?: string;
  /** Client certificate, for servers that require one. */
  readonly client?: { readonly certificate: string; readonly privateKey: string };
}

/** Groups: scheme, user, password, hosts, database, query. */
const REDIS_URL =
  /^(rediss?):\/\/(?=\S{1,2000}$)(?:([^:@/]*)(?::([^@/]*))?@)?([^/?#@]+)(?:\/(\d{0,5}))?(?:\?([^#]*))?$/;
const NODE = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]{1,255}))(?::(\d{1,5}))?$/;
const DEFAULT_PORT = 6379;
const FILE_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'];

/** Returns `undefined` for other URLs. */
export function parseRedisUrl(url: string): RedisAddress | undefined {
  const [, scheme, user = '', secret = '', hosts = '', database = '', query = ''] = REDIS_URL.exec(url) ?? [];
  const username = decoded(user);
  const password = decoded(secret);
  const nodes = hosts.split(',').map(parseNode);
  const files = tlsFiles(new URLSearchParams(query));
  const isTls = scheme === 'rediss';
  if (username === undefined || password === undefined || files === undefined || (query !== '' && !isTls)) return;
  if (!nodes.every((node) => node !== undefined)) return;
  return {
    nodes,
    ...(isTls && { tls: files }),
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    database: Number(database),
  };
}

function tlsFiles(query: URLSearchParams): RedisTlsFiles | undefined {
  if ([...query].some(([name, path]) => path === '' || !FILE_PARAMETERS.includes(name))) return;
  const { sslrootcert: authority, sslcert: certificate, sslkey: privateKey } = Object.fromEntries(query);
  if ((certificate === undefined) !== (privateKey === undefined)) return;
  return {
    ...(authority !== undefined && { authority }),
    ...(certificate !== undefined && privateKey !== undefined && { client: { certificate, privateKey } }),
  };
}

function parseNode(text: string): RedisNode | undefined {
  const [, bracketed, plain, port = DEFAULT_PORT] = NODE.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = Number(port);
  return host === undefined || number < 1 || number > 65_535 ? undefined : { host, port: number };
}
