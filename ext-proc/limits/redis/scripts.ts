import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * Files of each script, after shared.lua. The suffix of the last file is its number of KEYS, `n` if
 * that varies. Its header describes KEYS, ARGV and the reply.
 */
const FILES = {
  holds: ['organization.lua', 'account-trust.lua', 'admission.lua', 'release.lua', 'holds-n.lua'],
  renew: ['renew-5.lua'],
  held: ['held-5.lua'],
  takeRead: ['take-read-1.lua'],
  countRefused: ['count-refused-1.lua'],
  touchShards: ['touch-shards-n.lua'],
  openShards: ['open-shards-n.lua'],
  fenceShards: ['fence-shards-n.lua'],
  nameStore: ['name-store-1.lua'],
  mirrorAdd: ['mirror-add-3.lua'],
  mirrorList: ['mirror-list-n.lua'],
  mirrorRemove: ['mirror-remove-2.lua'],
  takeOverClaim: ['take-over-claim-2.lua'],
  keepReasoning: ['keep-reasoning-1.lua'],
  findReasoning: ['find-reasoning-n.lua'],
  forgetReasoning: ['forget-reasoning-n.lua'],
} as const;

export type ScriptName = keyof typeof FILES;

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export const SCRIPTS: Readonly<Record<ScriptName, Script>> = {
  holds: read('holds'),
  renew: read('renew'),
  held: read('held'),
  takeRead: read('takeRead'),
  countRefused: read('countRefused'),
  touchShards: read('touchShards'),
  openShards: read('openShards'),
  fenceShards: read('fenceShards'),
  nameStore: read('nameStore'),
  mirrorAdd: read('mirrorAdd'),
  mirrorList: read('mirrorList'),
  mirrorRemove: read('mirrorRemove'),
  takeOverClaim: read('takeOverClaim'),
  keepReasoning: read('keepReasoning'),
  findReasoning: read('findReasoning'),
  forgetReasoning: read('forgetReasoning'),
};

function read(name: ScriptName): Script {
  const source = ['shared.lua', ...FILES[name]]
    .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
    .join('\n');
  return { source, sha1: hash('sha1', source, 'hex') };
}
