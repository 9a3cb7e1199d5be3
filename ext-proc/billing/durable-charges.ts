import type { Log } from '#core/log/log.ts';
import {
  type AnySettlement,
  ChargeRefused,
  dueNanoUsd,
  type Ledger,
  type Settlement,
} from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { ChargeMirror } from '../limits/charge-mirror.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';
import { hasStoredResponse, withoutResponse } from './charge-log/log-entries.ts';
import type { LogRoom } from './charge-log/log-room.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import type { IdempotencyClaim } from './idempotency/claims.ts';
import { MirroredCharges } from './mirrored-charges.ts';
import { tokensOf } from './settlement-of.ts';
import { LONG_WAIT_MS, type Sent, Shipper, type ShipperOptions } from './shipper.ts';

/**
 * Outcome of a charge. `logged`: it waits in the log for PostgreSQL. `taken_over`: another request
 * has the idempotency key now, and nothing was charged. `lost`: neither log nor ledger stored it.
 */
export type ChargeOutcome = 'charged' | 'logged' | 'taken_over' | 'lost';

/**
 * Outcome of a charge whose response was delivered. `refused`: the ledger refused it, and it is a
 * dead letter.
 */
export type DeliveredOutcome = 'charged' | 'taken_over' | 'refused';

export interface DurableChargesOptions extends Pick<ShipperOptions, 'clock' | 'after'> {
  readonly ledger: Ledger;
  readonly chargeLog: Pick<ChargeLog, 'append' | 'waiting' | 'read' | 'committed' | 'isFailing'>;
  readonly room: Pick<LogRoom, 'problem'>;
  /** Whether responses wait for the fsync of the log, or for the commit. */
  readonly durableIn: () => 'log' | 'database';
  /** Absent: no other process could make the charges that wait. */
  readonly mirror?: ChargeMirror | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Records an uncharged attempt: the response was delivered, and its charge was refused. */
  readonly uncharged: (settlement: Settlement) => void;
  readonly holds: Pick<HoldKeeper, 'owe' | 'release' | 'releaseKept'>;
}

/** Makes durable charges (docs/design.md, "Charges"): they go to the log, then to the ledger. */
export class DurableCharges {
  readonly shipper: Shipper;
  readonly #options: DurableChargesOptions;
  readonly #mirrored: MirroredCharges | undefined;
  /** Claims of charges that wait: they keep their idempotency keys until the commit. */
  readonly #claims = new Map<string, IdempotencyClaim>();
  /** True after a charge was lost, until the disk of the log works again. */
  #hasLost = false;

  constructor(options: DurableChargesOptions) {
    const { chargeLog, mirror, log } = options;
    this.#options = options;
    this.shipper = new Shipper({
      ...options,
      send: (settlement, delivered) => this.#send(settlement, delivered),
      forget: (generationId) => this.#forget(generationId),
    });
    const charge = (settlement: AnySettlement) => this.#chargeOther(settlement);
    this.#mirrored = mirror && new MirroredCharges({ mirror, chargeLog, shipper: this.shipper, charge, log });
  }

  /**
   * Charges a settlement. Resolves when the charge is durable: in the log, or, with a claim or
   * `durable_in: database`, in PostgreSQL. If PostgreSQL is unavailable, the log is enough. Rejects
   * if the ledger refuses the charge before the response is sent, and dead-letters it.
   */
  async charge(settlement: AnySettlement, claim?: IdempotencyClaim): Promise<ChargeOutcome> {
    const { generationId } = settlement;
    if (claim) this.#claims.set(generationId, claim);
    // A stored response is large, and waits for the commit anyway. It goes into the log only if
    // PostgreSQL is unavailable.
    const hasResponse = hasStoredResponse(settlement);
    let isAppended = !hasResponse && (await this.#appendAndShip(settlement));
    if (!isAppended) this.shipper.add(settlement, false);
    if (isAppended && !isClaimed(settlement) && this.#options.durableIn() === 'log') return 'logged';
    const end = await this.shipper.shipOne(generationId);
    if (end.kind === 'refused') throw end.error;
    // The response does not wait for the disk, because the ledger has its charge.
    if (end.kind === 'charged' && hasResponse) void this.#appendCommitted(withoutResponse(settlement), end.ledgerEpoch);
    if (end.kind === 'charged' || end.kind === 'taken_over') return end.kind;
    if (hasResponse) {
      this.shipper.drop(generationId);
      isAppended = await this.#appendAndShip(settlement);
    }
    return isAppended ? this.#mirror(settlement) : this.#lose(settlement);
  }

  /** Charges what another process delivered. Rejects if the charge has to be retried. */
  async chargeDelivered(settlement: AnySettlement): Promise<DeliveredOutcome> {
    const end = await this.#commit(settlement, true);
    if (end.kind === 'unavailable') throw end.error;
    if (end.kind === 'charged') await this.#appendCommitted(settlement, end.ledgerEpoch);
    return end.kind;
  }

  /** Reason to admit nothing: charges wait too long, or the disk fails. `undefined`: none. */
  refusesBecause(): string | undefined {
    if (this.shipper.oldestMs() > LONG_WAIT_MS) return 'charges wait for PostgreSQL: completions are refused';
    const { chargeLog, room } = this.#options;
    this.#hasLost &&= chargeLog.isFailing();
    return this.#hasLost ? 'charges cannot be written to the log, and one is lost' : room.problem();
  }

  /** Sends the waiting charges once more. Those that fail stay in the log. */
  async close(): Promise<void> {
    await this.#mirrored?.close();
    await this.shipper.close();
  }

  async #append(settlement: AnySettlement): Promise<boolean> {
    const { chargeLog, log } = this.#options;
    try {
      await chargeLog.append(settlement);
      return true;
    } catch (error) {
      const { generationId } = settlement;
      log.error({ err: error, generation_id: generationId }, 'the disk did not take a charge: it waits for its commit');
      return false;
    }
  }

  /** Appends a charge to the log, from which it is shipped. False: the disk fails. */
  async #appendAndShip(settlement: AnySettlement): Promise<boolean> {
    if (!(await this.#append(settlement))) return false;
    this.#options.holds.owe(settlement, tokensOf(settlement), dueNanoUsd(settlement));
    this.shipper.add(settlement, true);
    return true;
  }

  #lose({ generationId }: Settlement): 'lost' {
    const { metrics, log } = this.#options;
    this.shipper.drop(generationId);
    this.#claims.delete(generationId);
    this.#hasLost = true;
    metrics.chargeLost();
    log.error({ generation_id: generationId }, 'a charge is lost: neither PostgreSQL nor the log took it');
    return 'lost';
  }

  /**
   * Copies a charge to the mirror. A response that is stored waits for the copy, because the
   * mirror decides whether this or another process may deliver a response for the Idempotency-Key.
   */
  async #mirror(settlement: AnySettlement): Promise<'logged' | 'taken_over'> {
    const copied = this.#mirrored?.add(settlement);
    if (!isClaimed(settlement) || settlement.claim.response === undefined || (await copied) !== 'taken_over')
      return 'logged';
    const { response: _response, ...rest } = settlement.claim;
    const replaced = { ...settlement, claim: { ...rest, takenOver: true } };
    // If this cannot be written, the ledger decides who owns the key. If the charge no longer
    // waits, the ledger has decided, and the log must not list the charge as waiting.
    const { generationId } = settlement;
    if (
      this.shipper.replace(replaced) &&
      (await this.#append(replaced)) &&
      !this.shipper.waitingFor(0).includes(generationId)
    )
      this.#options.chargeLog.committed([generationId], undefined);
    return 'taken_over';
  }

  /**
   * Sends a charge to the ledger, and then releases its hold. `delivered`: its response was
   * delivered, or may have been. If the charge is not made, the handler of a response that was not
   * delivered releases the hold. Never rejects.
   */
  async #commit(settlement: AnySettlement, delivered: boolean): Promise<Sent> {
    const { ledger, holds, metrics } = this.#options;
    let uncharged: Sent = { kind: 'taken_over' };
    try {
      const snapshot = await (isClaimed(settlement) ? ledger.chargeClaimed(settlement) : ledger.charge(settlement));
      if (snapshot !== undefined) {
        // No charge waits for that: it is awaited before the process ends.
        void holds.release(settlement, { tokensUsed: tokensOf(settlement), snapshot });
        return { kind: 'charged', ledgerEpoch: snapshot.ledgerEpoch };
      }
    } catch (error) {
      metrics.settlementFailed();
      // A charge that the ledger refuses must not block the others.
      if (!(error instanceof ChargeRefused) || !(await this.#isDeadLettered(settlement, error, delivered)))
        return { kind: 'unavailable', error };
      uncharged = { kind: 'refused', error };
    }
    if (delivered) await holds.release(settlement);
    return uncharged;
  }

  /** Stores a refused charge as a dead letter. False: PostgreSQL could not store it. */
  async #isDeadLettered(settlement: Settlement, error: ChargeRefused, delivered: boolean): Promise<boolean> {
    const { ledger, metrics, log } = this.#options;
    const fields = { generation_id: settlement.generationId };
    try {
      await ledger.deadLetter(settlement, error, delivered);
    } catch (problem) {
      log.error({ err: problem, ...fields }, 'a charge that the ledger refused could not be kept there');
      return false;
    }
    metrics.chargeDeadLettered();
    log.error({ err: error, ...fields }, 'the ledger refused a charge: it is in dead_letters, and not charged');
    return true;
  }

  /** Sends a charge that waits. `delivered`: no response waits for it. Never rejects. */
  async #send(settlement: AnySettlement, delivered: boolean): Promise<Sent> {
    const end = await this.#commit(settlement, delivered);
    if (end.kind === 'unavailable') return end;
    if (end.kind === 'taken_over' || end.kind === 'refused') {
      try {
        if (delivered) await this.#giveUp(settlement, end.kind);
        else if (end.kind === 'taken_over') await this.#addLoss(settlement);
      } catch (error) {
        if (delivered) return { kind: 'unavailable', error };
        this.#options.log.warn({ err: error }, 'a loss could not be written');
      }
    }
    // If a response still waits for an uncharged claim, its handler frees the claim.
    if (end.kind === 'charged' || delivered) this.#claims.get(settlement.generationId)?.ended();
    this.#claims.delete(settlement.generationId);
    await this.#mirrored?.remove(settlement);
    return end;
  }

  /** Makes a charge that waits in another process. Rejects if it has to be retried. */
  async #chargeOther(settlement: AnySettlement): Promise<void> {
    const outcome = await this.chargeDelivered(settlement);
    if (outcome !== 'charged') await this.#giveUp(settlement, outcome);
  }

  /** Records a charge that is not made although its response was delivered. */
  async #giveUp(settlement: AnySettlement, outcome: 'taken_over' | 'refused'): Promise<void> {
    if (outcome === 'taken_over') {
      await this.#addLoss(settlement);
      const { generationId } = settlement;
      this.#options.log.warn({ generation_id: generationId }, 'another attempt took over: this one is not charged');
    }
    // If a response was taken over while it waited, its handler has recorded the attempt.
    if (!isClaimed(settlement) || settlement.claim.takenOver !== true) this.#options.uncharged(settlement);
  }

  /**
   * Records a loss: the provider bills a response whose idempotency key another request has taken
   * over. Rejects with StoreUnavailable.
   */
  async #addLoss(settlement: Settlement): Promise<void> {
    const { generationId, organizationId, model, provider } = settlement;
    const loss = { reason: 'taken_over', amountNanoUsd: dueNanoUsd(settlement) } as const;
    await this.#options.ledger.lose({ generationId, organizationId, model, provider, ...loss });
  }

  /** Appends a charge that was made, in case the ledger goes back in time. */
  async #appendCommitted(settlement: Settlement, ledgerEpoch: string): Promise<void> {
    if (await this.#append(settlement)) this.#options.chargeLog.committed([settlement.generationId], ledgerEpoch);
  }

  /** Ends the claim and the hold of a charge that is never made. */
  async #forget(generationId: string): Promise<void> {
    this.#claims.get(generationId)?.ended();
    this.#claims.delete(generationId);
    await this.#options.holds.releaseKept(generationId);
  }
}
