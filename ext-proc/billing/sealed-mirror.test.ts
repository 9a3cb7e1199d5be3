import { expect, it } from 'vitest';
import type { Log } from '#core/log/log.ts';
import type { ChargeMirror, MirroredCharge } from '../limits/charge-mirror.ts';
import { sealMirror } from './sealed-mirror.ts';

const log = { error() {} } as unknown as Log;
const CHARGE = { organizationId: 'org-1', generationId: 'gen-1', text: 'a charge' };

it('returns copies that were written with the same key, and removes all others', async () => {
  const kept: MirroredCharge[] = [];
  const removed: unknown[] = [];
  const mirror: ChargeMirror = {
    add: async (charge) => (kept.push(charge) > 0 ? 'kept' : 'full'),
    list: async () => kept,
    remove: async (charge) => void removed.push(charge),
    takeOverClaim: async () => true,
  };
  const sealed = sealMirror(mirror, Buffer.alloc(32, 1), log);
  await sealed.add(CHARGE);
  const [ours] = kept as [MirroredCharge];
  const foreign = [
    { ...ours, text: ours.text.replace('a charge', 'b charge') },
    { ...ours, generationId: 'gen-2' },
    { ...ours, organizationId: 'org-2' },
    CHARGE,
    { ...ours, text: '' },
    { ...ours, text: `${'é'.repeat(64)}a charge` },
  ];
  kept.push(...foreign);
  expect(await sealed.list()).toEqual([CHARGE]);
  expect(removed).toEqual(foreign);
  expect(await sealMirror(mirror, Buffer.alloc(32, 2), log).list()).toEqual([]);
});
