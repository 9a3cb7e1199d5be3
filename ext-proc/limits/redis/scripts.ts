import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/**
 * Each script is made of its files, after shared.lua. The suffix of the last file is its number of
 * KEYS, `n` if that varies. Its header describes KEYS, ARGV and the reply.
 */
export const SCRIPTS = {
  holds: script('organization.lua', 'account-trust.lua', 'admission.lua', 'release.lua', 'holds-n.lua'),
  renew: script('renew-5.lua'),
  held: script('held-5.lua'),
  count: script('count-1.lua'),
  touchShards: script('touch-shards-n.lua'),
  openShards: script('open-shards-n.lua'),
  fenceShards: script('fence-shards-n.lua'),
  lockRaising: script('lock-raising-1.lua'),
  nameStore: script('name-store-1.lua'),
  mirrorAdd: script('mirror-add-3.lua'),
  mirrorList: script('mirror-list-n.lua'),
  mirrorRemove: script('mirror-remove-2.lua'),
  takeOverClaim: script('take-over-claim-2.lua'),
  keepReasoning: script('keep-reasoning-1.lua'),
  findReasoning: script('find-reasoning-n.lua'),
  forgetReasoning: script('forget-reasoning-n.lua'),
};

export type ScriptName = keyof typeof SCRIPTS;

function script(...files: string[]): Script {
  const source = ['shared.lua', ...files]
    .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
    .join('\n');
  return { source, sha1: hash('sha1', source, 'hex') };
}
