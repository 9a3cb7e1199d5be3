import { DAY_MS } from '#core/clock.ts';
import { SHARDS } from '#database/limits-ownership/shard-fences.ts';
import type { ChargeMirror, MirroredCharge } from '../charge-mirror.ts';
import { mirrorKeys, takenOverKey } from './redis-keys.ts';
import type { ScriptCalls } from './script-calls.ts';

/** A charge has about 900 bytes, so all shards have at most about 60 MB. */
const MOST_OF_A_SHARD = 1_000;
const MOST_BYTES = 8 * 1024;
/** Most charges of a shard in one call, so that it does not block the server for long. */
const LISTED_OF_A_SHARD = 20;
/** Longer than an outage of PostgreSQL. The log on the volume keeps a charge indefinitely. */
const KEPT_MS = 7 * DAY_MS;
/** Longer than any request lives. */
const TAKEN_OVER_MS = DAY_MS;

type Result = Awaited<ReturnType<ChargeMirror['add']>>;

/** Keeps the copies beside the limits, with the same rights and hash slots. */
export function createChargeMirror(connection: ScriptCalls): ChargeMirror {
  const shards = Array.from({ length: SHARDS }, (_, shard) => mirrorKeys(shard));
  const groups = connection.oneSlot ? shards : [shards.flat()];
  return {
    async add({ organizationId, generationId, text }) {
      if (Buffer.byteLength(text) > MOST_BYTES) return 'full';
      const keys = [...mirrorKeys(organizationId), takenOverKey(organizationId, generationId)];
      const args = [organizationId, generationId, text, MOST_OF_A_SHARD, KEPT_MS];
      return String(await connection.run('mirrorAdd', keys, args)) as Result;
    },
    async list() {
      const lists = await Promise.allSettled(
        groups.map((keys) => connection.run('mirrorList', keys, [LISTED_OF_A_SHARD])),
      );
      const found = lists
        .filter((list) => list.status === 'fulfilled')
        .flatMap(({ value }) => chargesIn(value as string[]));
      // If one node of a cluster is unavailable, the charges of the others are still returned.
      const failed = lists.find((list) => list.status === 'rejected');
      if (failed && found.length === 0) throw failed.reason;
      return found;
    },
    async remove({ organizationId, generationId }) {
      await connection.run('mirrorRemove', mirrorKeys(organizationId), [`${organizationId}|${generationId}`]);
    },
    async takeOverClaim(organizationId, generationId) {
      const [, texts] = mirrorKeys(organizationId);
      const keys = [texts, takenOverKey(organizationId, generationId)];
      return (await connection.run('takeOverClaim', keys, [`${organizationId}|${generationId}`, TAKEN_OVER_MS])) === 1;
    },
  };
}

function chargesIn(list: readonly string[]): MirroredCharge[] {
  const charges: MirroredCharge[] = [];
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [organizationId = '', generationId = ''] = (list[i] ?? '').split('|');
    charges.push({ organizationId, generationId, text: list[i + 1] ?? '' });
  }
  return charges;
}
