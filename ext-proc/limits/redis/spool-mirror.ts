import { SHARDS } from '../../../database/limits-ownership/shard-fences.ts';
import type { MirroredCharge, SpoolMirror } from '../../billing/spool/spool-mirror.ts';
import type { RedisCalls } from './calls.ts';
import { givenUpKey, mirrorKeys } from './shards.ts';

/**
 * A charge is some 900 bytes: at most some 60 MB in all, on a day on which everything that is under
 * way is spooled.
 */
const MOST_OF_A_SHARD = 1_000;
const MOST_BYTES = 8 * 1024;
/** In one list, so that no call keeps the server from the others for long. */
const LISTED_OF_A_SHARD = 20;
/**
 * Longer than PostgreSQL is away; a charge of a volume that is not lost is in its spool for ever.
 */
const KEPT_MS = 7 * 86_400_000;
/** Longer than any request lives. */
const GIVEN_UP_MS = 86_400_000;

type Result = Awaited<ReturnType<SpoolMirror['add']>>;

/** Beside the limits, with the rights and slots that they need. */
export function createSpoolMirror(connection: RedisCalls): SpoolMirror {
  const shards = Array.from({ length: SHARDS }, (_, shard) => mirrorKeys(shard));
  const groups = connection.oneSlot ? shards : [shards.flat()];
  return {
    async add({ organizationId, generationId, text }) {
      if (Buffer.byteLength(text) > MOST_BYTES) return 'full';
      const keys = [...mirrorKeys(organizationId), givenUpKey(organizationId, generationId)];
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
      // One node of a cluster that does not answer keeps nobody from the charges of the others.
      const failed = lists.find((list) => list.status === 'rejected');
      if (failed && found.length === 0) throw failed.reason;
      return found;
    },
    async remove({ organizationId, generationId }) {
      await connection.run('mirrorRemove', mirrorKeys(organizationId), [`${organizationId}|${generationId}`]);
    },
    async giveUp(organizationId, generationId) {
      const [, texts] = mirrorKeys(organizationId);
      const keys = [texts, givenUpKey(organizationId, generationId)];
      return (await connection.run('giveUp', keys, [`${organizationId}|${generationId}`, GIVEN_UP_MS])) === 1;
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
