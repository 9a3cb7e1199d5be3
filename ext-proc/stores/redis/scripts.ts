import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The number in a script's file name is that of its KEYS; its header says what they are, what ARGV is and what it returns. */
const FILES = {
  admit: 'admit-6.lua',
  release: 'release-5.lua',
  renew: 'renew-4.lua',
  held: 'held-4.lua',
  takeRead: 'take-read-1.lua',
  touchShard: 'touch-shard-1.lua',
  openShard: 'open-shard-1.lua',
  nameStore: 'name-store-1.lua',
} as const;

export type ScriptName = keyof typeof FILES;

export interface Script {
  readonly name: ScriptName;
  readonly source: string;
  readonly sha1: string;
  readonly keys: number;
}

export const SCRIPTS: Readonly<Record<ScriptName, Script>> = readScripts();

function readScripts(): Record<ScriptName, Script> {
  const shared = readLua('shared.lua');
  const read = (name: ScriptName): Script => {
    const source = `${shared}\n${readLua(FILES[name])}`;
    const keys = Number(/-(\d+)\.lua$/.exec(FILES[name])?.[1]);
    return { name, source, sha1: hash('sha1', source, 'hex'), keys };
  };
  return {
    admit: read('admit'),
    release: read('release'),
    renew: read('renew'),
    held: read('held'),
    takeRead: read('takeRead'),
    touchShard: read('touchShard'),
    openShard: read('openShard'),
    nameStore: read('nameStore'),
  };
}

function readLua(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}
