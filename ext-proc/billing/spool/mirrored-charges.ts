import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { MirroredCharge, SpoolMirror } from '../../limits/spool-mirror.ts';
import type { Spool } from './spool.ts';
import { decodeLine, encodeCharge } from './spool-line.ts';

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

/**
 * Mirrors spooled charges of all processes, without their responses, so that every process can
 * charge them, also after the owner is gone.
 */
export class MirroredCharges {
  readonly #options: MirroredChargesOptions;
  /** Unreadable copies, each reported once. */
  readonly #unreadable = new Set<string>();
  /** Spooled charges of this process with a copy. */
  readonly #copied = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;

  constructor(options: MirroredChargesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    }, LOOK_EVERY_MS).unref();
  }

  /**
   * Copies a charge. `taken_over`: another request has the idempotency key, so this response must
   * not be delivered. Never rejects: the spool has the charge, and a missing copy matters only if
   * the volume is lost.
   */
  add(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'taken_over'> {
    const { generationId } = settlement;
    const copying = this.#copy(settlement).catch((error: unknown) => {
      this.#options.log.warn({ err: error, generation_id: generationId }, 'a spooled charge could not be copied yet');
      return 'added' as const;
    });
    this.#underWay.add(copying);
    return copying.finally(() => this.#underWay.delete(copying));
  }

  async remove(settlement: Settlement): Promise<void> {
    // A copy that remains is charged again, which changes nothing.
    await this.#options.mirror.remove(settlement).catch(() => undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#looking, ...this.#underWay]);
  }

  /** Copies what has no copy yet, and charges what others spooled. Never rejects. */
  async #look(): Promise<void> {
    const { spool, mirror, log } = this.#options;
    try {
      const own = new Set(spool.pending().map(({ generationId }) => generationId));
      for (const generationId of this.#copied) if (!own.has(generationId)) this.#copied.delete(generationId);
      await this.#copyMissing([...own].filter((generationId) => !this.#copied.has(generationId)));
      const others = (await mirror.list()).filter(({ generationId }) => !own.has(generationId));
      const done = await Promise.allSettled(others.map((other) => this.#chargeOther(other)));
      for (const one of done) if (one.status === 'rejected') throw one.reason;
    } catch (error) {
      // An unavailable Redis or PostgreSQL is reported by its connection.
      if (!(error instanceof StoreUnavailable))
        log.warn({ err: error }, 'what other processes spooled could not be charged yet');
    }
  }

  /**
   * Copies charges that were spooled before this process began, or while Redis was unavailable. It
   * was decided then if their responses may be delivered.
   */
  async #copyMissing(generationIds: readonly string[]): Promise<void> {
    for (const generationId of generationIds.slice(0, COPIED_AT_ONCE)) {
      const settlement = await this.#options.spool.read(generationId);
      if (settlement) await this.#copy(settlement);
    }
  }

  async #copy(settlement: Settlement | ClaimedSettlement): Promise<'added' | 'taken_over'> {
    const { mirror, log } = this.#options;
    const { organizationId, generationId } = settlement;
    const text = encodeCharge(withoutResponse(settlement));
    const kept = await mirror.add({ organizationId, generationId, text });
    this.#copied.add(generationId);
    if (kept === 'full') log.warn({ generation_id: generationId }, 'there is no room for a copy of a spooled charge');
    return kept === 'taken_over' ? 'taken_over' : 'added';
  }

  async #chargeOther(mirrored: MirroredCharge): Promise<void> {
    const { mirror, charge, log } = this.#options;
    const { generationId } = mirrored;
    const line = decodeLine(mirrored.text);
    if (line?.kind !== 'charge' || line.settlement.generationId !== generationId) {
      if (!this.#unreadable.has(generationId))
        log.error({ generation_id: generationId }, 'the copy of a spooled charge cannot be read');
      this.#unreadable.add(generationId);
      return;
    }
    await charge(line.settlement);
    log.warn({ generation_id: generationId }, 'charged what another process had spooled');
    await mirror.remove(mirrored);
  }
}

function withoutResponse(settlement: Settlement | ClaimedSettlement): Settlement | ClaimedSettlement {
  if (!isClaimed(settlement) || settlement.claim.answer === undefined) return settlement;
  const { keyHash, bodyHash } = settlement.claim;
  return { ...settlement, claim: { keyHash, bodyHash, answerElsewhere: true } };
}
