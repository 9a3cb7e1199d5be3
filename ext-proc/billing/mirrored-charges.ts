import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { AnySettlement, Settlement } from '#database/ledger/ledger.ts';
import { encodeSettlement, parseSettlementJson } from '#database/ledger/settlement-json.ts';
import { isSettlement } from '#database/ledger/settlement-shape.ts';
import type { ChargeMirror, MirroredCharge } from '../limits/charge-mirror.ts';
import { allOnceSettled } from './all-once-settled.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';
import { withoutResponse } from './charge-log/log-entries.ts';
import type { Shipper } from './shipper.ts';

export interface MirroredChargesOptions {
  readonly mirror: ChargeMirror;
  /** Charges that wait in this process, which makes them itself, including stored responses. */
  readonly shipper: Pick<Shipper, 'waitingFor' | 'isFailing'>;
  readonly chargeLog: Pick<ChargeLog, 'read'>;
  /** Charges a settlement. Rejects if it has to be retried. */
  readonly charge: (settlement: AnySettlement) => Promise<void>;
  readonly log: Log;
}

const LOOK_EVERY_MS = 1_000;
/** Charges are copied after this wait. Without a failure none waits so long. */
const COPIED_AFTER_MS = 1_000;
const COPIED_AT_ONCE = 100;

/**
 * Copies the waiting charges of this process to the mirror, without stored responses, and makes the
 * charges that other processes have copied there, even after those processes have ended.
 */
export class MirroredCharges {
  readonly #options: MirroredChargesOptions;
  /** Unreadable copies, each reported once. */
  readonly #unreadable = new Set<string>();
  /** Charges of this process with a copy. */
  readonly #copied = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #stopLooking: () => Promise<void>;

  constructor(options: MirroredChargesOptions) {
    this.#options = options;
    this.#stopLooking = keepDoing(
      LOOK_EVERY_MS,
      () => this.#look(),
      (error) => {
        // An unavailable Redis or PostgreSQL is reported by its connection.
        if (!(error instanceof StoreUnavailable))
          options.log.warn({ err: error }, 'charges of other processes could not be made yet');
      },
      'after a pause',
    );
  }

  /**
   * Copies a charge. `taken_over`: another request has the idempotency key, so this response must
   * not be delivered. Never rejects: the log has the charge, and a missing copy matters only if
   * the volume is lost.
   */
  add(settlement: AnySettlement): Promise<'added' | 'taken_over'> {
    const { generationId } = settlement;
    const copying = this.#copy(settlement).catch((error: unknown) => {
      this.#options.log.warn(
        { err: error, generation_id: generationId },
        'a charge that waits could not be copied yet',
      );
      return 'added' as const;
    });
    this.#underWay.add(copying);
    return copying.finally(() => this.#underWay.delete(copying));
  }

  async remove(settlement: Settlement): Promise<void> {
    if (!this.#copied.delete(settlement.generationId)) return;
    // A copy that remains is charged again, which changes nothing.
    await this.#options.mirror.remove(settlement).catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.all([this.#stopLooking(), ...this.#underWay]);
  }

  /** Copies charges that have no copy yet, and makes those of other processes. */
  async #look(): Promise<void> {
    const { shipper, mirror } = this.#options;
    const late = shipper.waitingFor(shipper.isFailing() ? 0 : COPIED_AFTER_MS);
    await this.#copyMissing(late.filter((generationId) => !this.#copied.has(generationId)));
    const own = new Set(shipper.waitingFor(0));
    for (const generationId of this.#copied) if (!own.has(generationId)) this.#copied.delete(generationId);
    const others = (await mirror.list()).filter(({ generationId }) => !own.has(generationId));
    await allOnceSettled(others.map((other) => this.#chargeOther(other)));
  }

  /**
   * Copies charges whose responses do not wait for the copy. For those with an Idempotency-Key it
   * was decided before whether they may be delivered.
   */
  async #copyMissing(generationIds: readonly string[]): Promise<void> {
    for (const generationId of generationIds.slice(0, COPIED_AT_ONCE)) {
      const settlement = await this.#options.chargeLog.read(generationId);
      if (settlement) await this.#copy(settlement);
    }
  }

  async #copy(settlement: AnySettlement): Promise<'added' | 'taken_over'> {
    const { mirror, log } = this.#options;
    const { organizationId, generationId } = settlement;
    const text = encodeSettlement(withoutResponse(settlement));
    const kept = await mirror.add({ organizationId, generationId, text });
    this.#copied.add(generationId);
    if (kept === 'full')
      log.warn({ generation_id: generationId }, 'there is no room for a copy of a charge that waits');
    return kept === 'taken_over' ? 'taken_over' : 'added';
  }

  async #chargeOther(mirrored: MirroredCharge): Promise<void> {
    const { mirror, charge, log } = this.#options;
    const { generationId } = mirrored;
    const settlement = parseSettlementJson(mirrored.text);
    if (!isSettlement(settlement) || settlement.generationId !== generationId) {
      if (!this.#unreadable.has(generationId))
        log.error({ generation_id: generationId }, 'the copy of a charge cannot be read');
      this.#unreadable.add(generationId);
      return;
    }
    await charge(settlement);
    log.warn({ generation_id: generationId }, 'made the charge of another process');
    await mirror.remove(mirrored);
  }
}
