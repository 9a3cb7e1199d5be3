import { crc32 } from 'node:zlib';

/**
 * Organizations are spread over shards by their id. A shard is one hash slot, because its number is the hash tag of all its keys: so every call
 * can be of one slot on Redis Cluster, and what tells that the slot was lost stands beside what it tells of. More shards than a cluster has
 * nodes spread the load; each costs one small key.
 */
export const SHARDS = 64;

export interface OrganizationKeys {
  readonly shard: string;
  readonly organization: string;
  readonly holds: string;
  readonly leases: string;
  readonly quarantine: string;
  /** Of the hashes of the organization's API keys. */
  readonly keyPrefix: string;
}

/** Of no shard: the name belongs to the whole store. */
export const STORE_KEY = 'gateway:{store}:name';

const TAGS = Array.from({ length: SHARDS }, (_, index) => `gateway:{${index}}`);
const SHARD_KEYS = TAGS.map((tag) => `${tag}:shard`);

/** organization.lua makes the same names from the shard's. */
export function organizationKeys(organizationId: string): OrganizationKeys {
  const tag = tagOf(organizationId);
  return {
    shard: `${tag}:shard`,
    organization: `${tag}:org:${organizationId}`,
    holds: `${tag}:holds:${organizationId}`,
    leases: `${tag}:leases:${organizationId}`,
    quarantine: `${tag}:quarantine:${organizationId}`,
    keyPrefix: `${tag}:key:`,
  };
}

export function shardKeyOf(organizationId: string): string {
  return SHARD_KEYS[crc32(organizationId) % SHARDS] as string;
}

/** Index and texts of the copies of spooled charges, of an organization's shard or of that number. */
export function mirrorKeys(of: string | number): readonly [index: string, texts: string] {
  const tag = typeof of === 'number' ? (TAGS[of] as string) : tagOf(of);
  return [`${tag}:spooled`, `${tag}:spooled-charges`];
}

export function givenUpKey(organizationId: string, generationId: string): string {
  return `${tagOf(organizationId)}:given-up:${generationId}`;
}

export function readsKey(keyId: string): string {
  return `${tagOf(keyId)}:reads:${keyId}`;
}

export function allShardKeys(): readonly string[] {
  return SHARD_KEYS;
}

function tagOf(id: string): string {
  return TAGS[crc32(id) % SHARDS] as string;
}
