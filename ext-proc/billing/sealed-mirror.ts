import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Log } from '#core/log/log.ts';
import type { ChargeMirror, MirroredCharge } from '../limits/charge-mirror.ts';

const MAC_LENGTH = 64;

/**
 * Wraps a mirror so that it returns only copies that processes of this ledger have made. A user who
 * can write to Redis could lift limits, but must not be able to charge. `key` is known only to
 * readers of the ledger.
 */
export function sealMirror(mirror: ChargeMirror, key: Buffer, log: Log): ChargeMirror {
  const macOf = ({ organizationId, generationId }: Omit<MirroredCharge, 'text'>, text: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([organizationId, generationId, text]))
      .digest('hex');

  function opened(charge: MirroredCharge): MirroredCharge | undefined {
    const text = charge.text.slice(MAC_LENGTH);
    const [mac, expected] = [Buffer.from(charge.text.slice(0, MAC_LENGTH)), Buffer.from(macOf(charge, text))];
    if (mac.length === expected.length && timingSafeEqual(mac, expected)) return { ...charge, text };
    const { organizationId, generationId } = charge;
    log.error(
      { organization_id: organizationId, generation_id: generationId },
      'a copy of a charge in Redis is not ours: removed',
    );
    mirror.remove(charge).catch(() => undefined);
    return undefined;
  }

  return {
    ...mirror,
    add: (charge) => mirror.add({ ...charge, text: macOf(charge, charge.text) + charge.text }),
    list: async () => (await mirror.list()).map(opened).filter((charge) => charge !== undefined),
  };
}
