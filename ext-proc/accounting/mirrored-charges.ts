import type { ClaimedSettlement, Settlement } from '../stores/ledger.ts';
import { isClaimed } from '../stores/settlement-json.ts';
import type { MirroredCharge, SpoolMirror } from '../stores/spool-mirror.ts';
import type { Log } from '../telemetry/log.ts';
import { decodeLine, encodeCharge } from './spool-line.ts';

/** Spooled charges of all processes, without their answers, where every process can charge them: nobody has to wait for one that is gone. */
export interface MirroredCharges {
  /**
   * `given_up`: another attempt was promised the Idempotency-Key, so this one's answer must not be given. Never rejects: the spool has the
   * charge, and a copy that could not be made is only missed when its volume is lost.
   */
  add(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'given_up'>;
  remove(settlement: Settlement): Promise<void>;
  close(): Promise<void>;
}

export interface MirroredChargesOptions {
  readonly mirror: SpoolMirror;
  /** It waits in the spool of this process, which charges it itself, with its answer. */
  readonly isOurs: (generationId: string) => boolean;
  /** Rejects where it has to be tried again. */
  readonly charge: (settlement: Settlement | ClaimedSettlement) => Promise<void>;
  readonly log: Log;
}

const LOOK_EVERY_MS = 2_000;

export function createMirroredCharges({ mirror, isOurs, charge, log }: MirroredChargesOptions): MirroredCharges {
  /** Told once each. */
  const unreadable = new Set<string>();
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => log.warn({ err: error }, 'what other processes spooled could not be charged yet'))
      .finally(() => {
        looking = undefined;
      });
  }, LOOK_EVERY_MS);
  timer.unref();

  async function look(): Promise<void> {
    const others = (await mirror.list()).filter(({ generationId }) => !isOurs(generationId));
    const done = await Promise.allSettled(others.map(chargeOther));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  }

  async function chargeOther(mirrored: MirroredCharge): Promise<void> {
    const { generationId } = mirrored;
    const line = decodeLine(mirrored.text);
    if (line?.kind !== 'charge' || line.settlement.generationId !== generationId) {
      if (!unreadable.has(generationId))
        log.error({ generation_id: generationId }, 'the copy of a spooled charge cannot be read');
      unreadable.add(generationId);
      return;
    }
    await charge(line.settlement);
    log.warn({ generation_id: generationId }, 'charged what another process had spooled');
    await mirror.remove(mirrored);
  }

  return {
    async add(settlement) {
      const { organizationId, generationId } = settlement;
      try {
        const text = encodeCharge(withoutAnswer(settlement));
        const kept = await mirror.add({ organizationId, generationId, text });
        if (kept === 'full')
          log.warn({ generation_id: generationId }, 'there is no room for a copy of a spooled charge');
        return kept === 'given_up' ? 'given_up' : 'added';
      } catch (error) {
        log.warn({ err: error, generation_id: generationId }, 'a spooled charge could not be copied');
        return 'added';
      }
    },
    async remove(settlement) {
      // Whoever finds it charges it again, which changes nothing.
      await mirror.remove(settlement).catch(() => undefined);
    },
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}

function withoutAnswer(settlement: Settlement | ClaimedSettlement): Settlement | ClaimedSettlement {
  if (!isClaimed(settlement) || settlement.claim.answer === undefined) return settlement;
  const { keyHash, bodyHash } = settlement.claim;
  return { ...settlement, claim: { keyHash, bodyHash, answerElsewhere: true } };
}
