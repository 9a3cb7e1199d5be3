import { crc32 } from 'node:zlib';
import { SHARDS } from '#database/limits-ownership/shard-fences.ts';

/** Hash with the name of the store. It belongs to no shard. */
export const STORE_KEY = 'gateway:{store}:name';

/** Hash with the lock of the process that raises fences. */
export const RAISING_KEY = 'gateway:{store}:raising';

const TAGS = Array.from({ length: SHARDS }, (_, index) => `gateway:{${index}}`);
export const SHARD_KEYS: readonly string[] = TAGS.map((tag) => `${tag}:shard`);

/** Names of an organization's keys. organization.lua makes the same names. */
export function organizationKeys(organizationId: string) {
  const tag = tagOf(organizationId);
  return {
    shard: `${tag}:shard`,
    organization: `${tag}:org:${organizationId}`,
    holds: `${tag}:holds:${organizationId}`,
    leases: `${tag}:leases:${organizationId}`,
    quarantine: `${tag}:quarantine:${organizationId}`,
    /** Prefix of the hashes of the organization's API keys. */
    keyPrefix: `${tag}:key:`,
  };
}

export function shardOf(organizationId: string): number {
  return crc32(organizationId) % SHARDS;
}

export function shardKeyOf(organizationId: string): string {
  return SHARD_KEYS[shardOf(organizationId)] as string;
}

/** Index and texts of a shard's copies of charges, by organization or shard number. */
export function mirrorKeys(of: string | number): readonly [index: string, texts: string] {
  const tag = typeof of === 'number' ? (TAGS[of] as string) : tagOf(of);
  return [`${tag}:mirrored`, `${tag}:mirrored-charges`];
}

/** Name of the hash that exists if the claim of this generation was taken over. */
export function takenOverKey(organizationId: string, generationId: string): string {
  return `${tagOf(organizationId)}:given-up:${generationId}`;
}

/** Name of the hash with the kept reasoning of one message. */
export function reasoningKey(organizationId: string, name: string): string {
  return `${tagOf(organizationId)}:reasoning:${name}`;
}

export function readsKey(keyId: string): string {
  return `${tagOf(keyId)}:reads:${keyId}`;
}

/** Name of the count of refused requests, of an organization or an API key. */
export function refusedKey(id: string): string {
  return `${tagOf(id)}:refused:${id}`;
}

function tagOf(id: string): string {
  return TAGS[crc32(id) % SHARDS] as string;
}
