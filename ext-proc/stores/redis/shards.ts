import { crc32 } from 'node:zlib';

/**
 * Organizations are spread over shards by their id. A shard is one hash slot, because its number is the hash tag of all its keys: so every call
 * is of one slot on Redis Cluster, and what tells that the slot was lost stands beside what it tells of. More shards than a cluster has nodes
 * spread the load; each costs one small key.
 */
export const SHARDS = 64;

export interface OrganizationKeys {
  readonly shard: string;
  readonly organization: string;
  readonly holds: string;
  readonly leases: string;
  /** Of the hashes of the organization's API keys. */
  readonly keyPrefix: string;
  readonly toldPrefix: string;
}

/** Of no shard: the name belongs to the whole store. */
export const STORE_KEY = 'gateway:{store}:name';

export function organizationKeys(organizationId: string): OrganizationKeys {
  const tag = tagOf(organizationId);
  return {
    shard: `${tag}:shard`,
    organization: `${tag}:org:${organizationId}`,
    holds: `${tag}:holds:${organizationId}`,
    leases: `${tag}:leases:${organizationId}`,
    keyPrefix: `${tag}:key:`,
    toldPrefix: `${tag}:told:`,
  };
}

export function readsKey(keyId: string): string {
  return `${tagOf(keyId)}:reads:${keyId}`;
}

export function allShardKeys(): string[] {
  return Array.from({ length: SHARDS }, (_, index) => `${tag(index)}:shard`);
}

function tagOf(id: string): string {
  return tag(crc32(id) % SHARDS);
}

function tag(index: number): string {
  return `gateway:{${index}}`;
}
