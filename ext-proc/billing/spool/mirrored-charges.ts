import type { Log } from '../../../core/log/log.ts';
import { StoreUnavailable } from '../../../core/store-unavailable.ts';
import type { ClaimedSettlement, Settlement } from '../../../database/ledger/ledger.ts';
import { isClaimed } from '../../../database/ledger/settlement-json.ts';
import type { Spool } from './spool.ts';
import { decodeLine, encodeCharge } from './spool-line.ts';
import type { MirroredCharge, SpoolMirror } from './spool-mirror.ts';

/**
 * Spooled charges of all processes, without their answers, where every process can charge them:
 * nobody has to wait for one that is gone.
 */
export interface MirroredCharges {
  /**
   * `taken_over`: another attempt was promised the Idempotency-Key, so this one's answer must not
   * be given. Never rejects: the spool has the charge, and a copy that could not be made is only
   * missed when its volume is lost.
   */
  add(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'taken_over'>;
  remove(settlement: Settlement): Promise<void>;
  close(): Promise<void>;
}

export interface MirroredChargesOptions {
  readonly mirror: SpoolMirror;
  /** The spool of this process. The process charges these itself, with their responses. */
  readonly spool: Pick<Spool, 'pending' | 'read'>;
  /** Rejects where it has to be tried again. */
  readonly charge: (settlement: Settlement | ClaimedSettlement) => Promise<void>;
  readonly log: Log;
}

const LOOK_EVERY_MS = 2_000;
/** Copies of one look, of what Redis was not there for when it was spooled. */
const COPIED_AT_ONCE = 100;

export function createMirroredCharges({ mirror, spool, charge, log }: MirroredChargesOptions): MirroredCharges {
  /** Copies that cannot be read, each reported once. */
  const unreadable = new Set<string>();
  /** Spooled charges of this process that the mirror has. */
  const copied = new Set<string>();
  const underWay = new Set<Promise<unknown>>();
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => {
        // An unavailable Redis or PostgreSQL is reported by its connection.
        if (!(error instanceof StoreUnavailable))
          log.warn({ err: error }, 'what other processes spooled could not be charged yet');
      })
      .finally(() => {
        looking = undefined;
      });
  }, LOOK_EVERY_MS);
  timer.unref();

  async function look(): Promise<void> {
    const own = new Set(spool.pending().map(({ generationId }) => generationId));
    for (const generationId of copied) if (!own.has(generationId)) copied.delete(generationId);
    await copyMissing([...own].filter((generationId) => !copied.has(generationId)));
    const others = (await mirror.list()).filter(({ generationId }) => !own.has(generationId));
    const done = await Promise.allSettled(others.map(chargeOther));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  }

  /**
   * Spooled before this process began, or while Redis did not answer. Whether an answer may be
   * given was decided then.
   */
  async function copyMissing(generationIds: readonly string[]): Promise<void> {
    for (const generationId of generationIds.slice(0, COPIED_AT_ONCE)) {
      const settlement = await spool.read(generationId);
      if (settlement) await copy(settlement);
    }
  }

  async function copy(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'taken_over'> {
    const { organizationId, generationId } = settlement;
    const text = encodeCharge(withoutAnswer(settlement));
    const kept = await mirror.add({ organizationId, generationId, text });
    copied.add(generationId);
    if (kept === 'full') log.warn({ generation_id: generationId }, 'there is no room for a copy of a spooled charge');
    return kept === 'taken_over' ? 'taken_over' : 'added';
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
      const { generationId } = settlement;
      const copying = copy(settlement).catch((error: unknown) => {
        log.warn({ err: error, generation_id: generationId }, 'a spooled charge could not be copied yet');
        return 'added' as const;
      });
      underWay.add(copying);
      return copying.finally(() => underWay.delete(copying));
    },
    async remove(settlement) {
      // A copy that stays is charged again, which changes nothing.
      await mirror.remove(settlement).catch(() => undefined);
    },
    async close() {
      clearInterval(timer);
      await Promise.all([looking, ...underWay]);
    },
  };
}

function withoutAnswer(settlement: Settlement | ClaimedSettlement): Settlement | ClaimedSettlement {
  if (!isClaimed(settlement) || settlement.claim.answer === undefined) return settlement;
  const { keyHash, bodyHash } = settlement.claim;
  return { ...settlement, claim: { keyHash, bodyHash, answerElsewhere: true } };
}
