import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { MirroredCharge, SpoolMirror } from '../../limits/spool-mirror.ts';
import type { Spool } from './spool.ts';
import { decodeLine, encodeCharge } from './spool-line.ts';

/**
 * Mirrors spooled charges of all processes, without their responses, so that every process can
 * charge them, also after the owner is gone.
 */
export interface MirroredCharges {
  /**
   * Copies a charge. `taken_over`: another request has the idempotency key, so this response must
   * not be delivered. Never rejects: the spool has the charge, and a missing copy matters only if
   * the volume is lost.
   */
  add(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'taken_over'>;
  remove(settlement: Settlement): Promise<void>;
  close(): Promise<void>;
}

export interface MirroredChargesOptions {
  readonly mirror: SpoolMirror;
  /** The spool of this process. The process charges these itself, with their responses. */
  readonly spool: Pick<Spool, 'pending' | 'read'>;
  /** Charges a settlement. Rejects if it has to be tried again. */
  readonly charge: (settlement: Settlement | ClaimedSettlement) => Promise<void>;
  readonly log: Log;
}

const LOOK_EVERY_MS = 2_000;
/** Most copies per interval that were missed while Redis was unavailable. */
const COPIED_AT_ONCE = 100;

export function createMirroredCharges({ mirror, spool, charge, log }: MirroredChargesOptions): MirroredCharges {
  /** Unreadable copies, each reported once. */
  const unreadable = new Set<string>();
  /** Spooled charges of this process with a copy. */
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
   * Copies charges that were spooled before this process began, or while Redis was unavailable. It
   * was decided then if their responses may be delivered.
   */
  async function copyMissing(generationIds: readonly string[]): Promise<void> {
    for (const generationId of generationIds.slice(0, COPIED_AT_ONCE)) {
      const settlement = await spool.read(generationId);
      if (settlement) await copy(settlement);
    }
  }

  async function copy(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'taken_over'> {
    const { organizationId, generationId } = settlement;
    const text = encodeCharge(withoutResponse(settlement));
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
      // A copy that remains is charged again, which changes nothing.
      await mirror.remove(settlement).catch(() => undefined);
    },
    async close() {
      clearInterval(timer);
      await Promise.all([looking, ...underWay]);
    },
  };
}

function withoutResponse(settlement: Settlement | ClaimedSettlement): Settlement | ClaimedSettlement {
  if (!isClaimed(settlement) || settlement.claim.answer === undefined) return settlement;
  const { keyHash, bodyHash } = settlement.claim;
  return { ...settlement, claim: { keyHash, bodyHash, answerElsewhere: true } };
}
