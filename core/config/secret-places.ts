import type { Path } from './yaml-tree.ts';

/**
 * How a process loads secrets. `all`: the gateway process, which sends them. `checked`: a missing
 * one is reported, and none is kept. `none`: neither read nor followed.
 */
export type Secrets = 'all' | 'checked' | 'none';

const SENT: readonly (readonly string[])[] = [
  ['providers', '*', 'api_key'],
  ['providers', '*', 'query', '*'],
  ['providers', '*', 'headers', '*'],
  ['providers', '*', 'auth', 'aws', 'access_key_id'],
  ['providers', '*', 'auth', 'aws', 'secret_access_key'],
  ['providers', '*', 'auth', 'aws', 'session_token'],
  ['providers', '*', 'auth', 'oauth2', 'client_id'],
  ['providers', '*', 'auth', 'oauth2', 'client_secret'],
  ['tracing', 'headers', '*'],
];
const REDIS = ['stores', 'redis'];

/**
 * Values that a process does not get with that setting. Every process needs the database, the
 * dashboard needs no Redis.
 */
export function isSecretPlace(path: Path, secrets: Secrets): boolean {
  const places = secrets === 'none' ? [...SENT, REDIS] : SENT;
  return places.some(
    (place) => place.length === path.length && place.every((part, at) => part === '*' || part === path[at]),
  );
}
