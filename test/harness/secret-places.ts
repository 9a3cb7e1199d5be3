import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { askAdmin } from '#ext-proc/envoy-config/envoy-admin.ts';
import { sql } from './database.ts';
import type { Stack } from './stack.ts';

/** Places where a secret could end up, each with a readable name and its whole content. */
export type Places = Map<string, string>;

const LARGEST_FILE_BYTES = 64 * 1024 * 1024;
const ADMIN_PAGES = [
  'config_dump?include_eds',
  'clusters',
  'stats',
  'stats/prometheus',
  'server_info',
  'certs',
  'listeners',
  'runtime',
];

export async function lookEverywhere(stack: Stack, redis: Redis): Promise<Places> {
  const places: Places = new Map([['logs', stack.logs()]]);
  places.set('metrics', await (await fetch(`${stack.metricsOrigin}/metrics`)).text());
  for (const page of ADMIN_PAGES) {
    places.set(`Envoy's /${page}`, (await askAdmin(stack.paths.envoyAdminSocket, `/${page}`)) ?? '');
  }
  places.set('the database', await everyRow(stack.databaseUrl));
  places.set('Redis', await everyValue(redis));
  addFiles(places, stack.paths.dataDir);
  return places;
}

/** gateway.yaml is left out: it may contain secrets that the operator wrote into it. */
export function addFiles(places: Places, dataDir: string): void {
  for (const path of filesBelow(dataDir)) {
    if (path !== join(dataDir, 'gateway.yaml') && statSync(path).size < LARGEST_FILE_BYTES) {
      places.set(path, readFileSync(path, 'latin1'));
    }
  }
}

/**
 * Finds secrets as plain text, hexadecimal or base64, the forms in which databases show bytes. A
 * result reads `key in logs`.
 */
export function findSecrets(places: Places, secrets: Readonly<Record<string, string>>): string[] {
  const found: string[] = [];
  for (const [name, secret] of Object.entries(secrets)) {
    const bytes = Buffer.from(secret);
    // The base64 of a longer text depends on the offset of the secret in it. Compared are the
    // characters that neighbouring bytes do not change.
    const base64 = [0, 1, 2].map((skipped) =>
      bytes.subarray(skipped, skipped + Math.floor((bytes.length - 2) / 3) * 3).toString('base64'),
    );
    const forms = [secret, bytes.toString('hex'), ...base64];
    for (const [place, text] of places)
      if (forms.some((form) => text.includes(form))) found.push(`${name} in ${place}`);
  }
  return found;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Content of a database dump. */
export async function everyRow(databaseUrl: string): Promise<string> {
  const tables = await sql<{ name: string }>(
    databaseUrl,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const found = await sql<{ row: string }>(databaseUrl, `select t::text as row from ${name} t`);
    rows.push(...found.map(({ row }) => row));
  }
  return rows.join('\n');
}

async function everyValue(redis: Redis): Promise<string> {
  const values: string[] = [];
  for (const key of await redis.keys('*')) values.push(key, JSON.stringify(await valueAt(redis, key)));
  return values.join('\n');
}

async function valueAt(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  if (type === 'string') return redis.get(key);
  if (type === 'hash') return redis.hgetall(key);
  if (type === 'set') return redis.smembers(key);
  if (type === 'zset') return redis.zrange(key, '0', '-1');
  throw new Error(`Redis has ${key} of type ${type}`);
}
