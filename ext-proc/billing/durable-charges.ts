import type { Log } from '#core/log/log.ts';
import type { NanoUsd } from '#core/money.ts';
import { type ClaimedSettlement, dueNanoUsd, type Settlement } from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { ChargeMirror } from '../limits/charge-mirror.ts';
import type { Hold } from '../limits/limit-store.ts';
import {
  ChargeCommitter,
  type ChargeCommitterOptions,
  type HoldOwner,
  type Sent,
  tokensOf,
} from './charge-committer.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';
import { hasAnswer, withoutResponse } from './charge-log/log-entries.ts';
import type { LogRoom } from './charge-log/log-room.ts';
import type { IdempotencyClaim } from './idempotency/claims.ts';
import { MirroredCharges } from './mirrored-charges.ts';
import { LONG_WAIT_MS, Shipper, type ShipperOptions } from './shipper.ts';

/**
 * Outcome of a charge. `logged`: it waits in the log for PostgreSQL. `taken_over`: another request
 * has the idempotency key now, and nothing was charged. `lost`: neither log nor ledger took it.
 */
export type ChargeOutcome = 'charged' | 'logged' | 'taken_over' | 'lost';

/** Outcome of a late charge. `refused`: the ledger refused it, and it is a dead letter. */
export type LateOutcome = 'charged' | 'taken_over' | 'refused';

export interface DurableChargesOptions extends ChargeCommitterOptions, Pick<ShipperOptions, 'clock' | 'after'> {
  readonly chargeLog: Pick<ChargeLog, 'append' | 'waiting' | 'read' | 'committed'>;
  readonly room: Pick<LogRoom, 'problem' | 'failed'>;
  /** What responses wait for: the fsync of the log, or the commit. */
  readonly durableIn: () => 'log' | 'database';
  /** Absent: no other process could make the charges that wait. */
  readonly mirror?: ChargeMirror | undefined;
  readonly log: Log;
  /** Records an uncharged attempt: the response was delivered, and its charge was refused. */
  readonly uncharged: (settlement: Settlement) => void;
  /** Frees slot and tokens of a hold, and leaves it what it is owed until its release. */
  readonly oweHold: (of: HoldOwner, tokensUsed: number, owedNanoUsd: NanoUsd) => void;
  /** Finds the hold of a generation, if this process still has it. */
  readonly liveHold: (generationId: string) => Hold | undefined;
}

type AnySettlement = Settlement | ClaimedSettlement;

/**
 * Makes durable charges (docs/design.md, "Charges"): each goes into the log, and from there into
 * the ledger.
 */
export class DurableCharges {
  readonly shipper: Shipper;
  readonly #options: DurableChargesOptions;
  readonly #committer: ChargeCommitter;
  readonly #mirrored: MirroredCharges | undefined;
  /** Claims of charges that wait: they keep their idempotency keys until the commit. */
  readonly #claims = new Map<string, IdempotencyClaim>();

  constructor(options: DurableChargesOptions) {
    const { chargeLog, mirror, log } = options;
    this.#options = options;
    this.#committer = new ChargeCommitter(options);
    this.shipper = new Shipper({
      ...options,
      send: (settlement, delivered) => this.#send(settlement, delivered),
      forget: (generationId) => this.#forget(generationId),
    });
    const charge = (settlement: AnySettlement) => this.#chargeOther(settlement);
    this.#mirrored = mirror && new MirroredCharges({ mirror, chargeLog, shipper: this.shipper, charge, log });
  }

  /**
   * Charges a settlement. Resolves when it is durable. With a claim, or `durable_in: database`,
   * that is after the commit, or in the log if PostgreSQL does not take it. Rejects if the ledger
   * refuses it then; it is a dead letter.
   */
  async charge(settlement: AnySettlement, claim?: IdempotencyClaim): Promise<ChargeOutcome> {
    const { generationId } = settlement;
    if (claim) this.#claims.set(generationId, claim);
    // A response that is stored is large, and waits for the commit anyway: the log has it only if
    // PostgreSQL does not take it.
    const stores = hasAnswer(settlement);
    let isLogged = !stores && (await this.#log(settlement));
    if (!isLogged) this.shipper.add(settlement, false);
    if (isLogged && !isClaimed(settlement) && this.#options.durableIn() === 'log') return 'logged';
    const end = await this.shipper.shipOne(generationId);
    if (end.kind === 'refused') throw end.error;
    // The response does not wait for the disk: the ledger has its charge.
    if (end.kind === 'charged' && stores) void this.#note(withoutResponse(settlement), end.ledgerEpoch);
    if (end.kind === 'charged' || end.kind === 'taken_over') return end.kind;
    if (stores) {
      this.shipper.drop(generationId);
      isLogged = await this.#log(settlement);
    }
    return isLogged ? this.#mirror(settlement) : this.#lose(settlement);
  }

  /**
   * Charges the response, or a part of it, of a process that ended. Rejects if the charge has to be
   * tried again.
   */
  async late(settlement: AnySettlement): Promise<LateOutcome> {
    const end = await this.#committer.commit(settlement, true);
    if (end.kind === 'unavailable') throw end.error;
    if (end.kind === 'charged') await this.#note(settlement, end.ledgerEpoch);
    else await this.#options.releaseHold(settlement, 0);
    return end.kind;
  }

  /** Repeats a charge, as ChargeCommitter. */
  again(settlement: Settlement): Promise<boolean> {
    return this.#committer.repeat(settlement);
  }

  /**
   * Reason to admit nothing: charges have waited for long, or could not be made durable.
   * `undefined`: none.
   */
  refusesBecause(): string | undefined {
    if (this.shipper.oldestMs() > LONG_WAIT_MS) return 'charges wait for PostgreSQL: completions are refused';
    return this.#options.room.problem();
  }

  /** Sends what waits once more; the rest stays in the log. */
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

  /** Puts a charge into the log, from where it is shipped. False: the disk does not take it. */
  async #log(settlement: AnySettlement): Promise<boolean> {
    if (!(await this.#append(settlement))) return false;
    this.#options.oweHold(settlement, tokensOf(settlement), dueNanoUsd(settlement));
    this.shipper.add(settlement, true);
    return true;
  }

  #lose({ generationId }: Settlement): 'lost' {
    const { room, metrics, log } = this.#options;
    this.shipper.drop(generationId);
    this.#claims.delete(generationId);
    room.failed();
    metrics.chargeLost();
    log.error({ generation_id: generationId }, 'a charge is lost: neither PostgreSQL nor the log took it');
    return 'lost';
  }

  /**
   * The response waits until the mirror has its charge: another process with the same
   * Idempotency-Key asks the mirror who may go on.
   */
  async #mirror(settlement: AnySettlement): Promise<'logged' | 'taken_over'> {
    const copied = this.#mirrored?.add(settlement);
    if (!isClaimed(settlement) || settlement.claim.answer === undefined || (await copied) !== 'taken_over')
      return 'logged';
    const { answer: _answer, ...rest } = settlement.claim;
    const replaced = { ...settlement, claim: { ...rest, takenOver: true } };
    // If it cannot be written, the ledger decides who owns the key. It has decided where the charge
    // does not wait any more, and then no line may say that it does.
    const { generationId } = settlement;
    if (
      this.shipper.replace(replaced) &&
      (await this.#append(replaced)) &&
      !this.shipper.waitingFor(0).includes(generationId)
    )
      this.#options.chargeLog.committed([generationId], undefined);
    return 'taken_over';
  }

  /** Sends a charge that waits. `delivered`: no response waits for it. Never rejects. */
  async #send(settlement: AnySettlement, delivered: boolean): Promise<Sent> {
    const end = await this.#committer.commit(settlement, delivered);
    if (end.kind === 'unavailable') return end;
    if (end.kind !== 'charged') {
      try {
        if (delivered) await this.#options.releaseHold(settlement, 0);
        if (delivered) await this.#giveUp(settlement, end.kind);
        else if (end.kind === 'taken_over') await this.#committer.lose(settlement);
      } catch (error) {
        if (delivered) return { kind: 'unavailable', error };
        this.#options.log.warn({ err: error }, 'a loss could not be written');
      }
    }
    // The handler of a request that waits frees what was not charged.
    if (end.kind === 'charged' || delivered) this.#claims.get(settlement.generationId)?.ended();
    this.#claims.delete(settlement.generationId);
    await this.#mirrored?.remove(settlement);
    return end;
  }

  /** Makes a charge that waits in another process. Rejects if it has to be tried again. */
  async #chargeOther(settlement: AnySettlement): Promise<void> {
    const outcome = await this.late(settlement);
    if (outcome !== 'charged') await this.#giveUp(settlement, outcome);
  }

  /** Records a charge that is not made although its response was delivered. */
  async #giveUp(settlement: AnySettlement, outcome: 'taken_over' | 'refused'): Promise<void> {
    if (outcome === 'taken_over') {
      await this.#committer.lose(settlement);
      const { generationId } = settlement;
      this.#options.log.warn({ generation_id: generationId }, 'another attempt took over: this one is not charged');
    }
    // The handler of a request that was taken over while it waited has recorded it.
    if (!isClaimed(settlement) || settlement.claim.takenOver !== true) this.#options.uncharged(settlement);
  }

  /** Notes a charge that was made in the log, for a ledger that goes back in time. */
  async #note(settlement: Settlement, ledgerEpoch: string): Promise<void> {
    if (await this.#append(settlement)) this.#options.chargeLog.committed([settlement.generationId], ledgerEpoch);
  }

  /** Ends what waits for a charge that is never made. */
  async #forget(generationId: string): Promise<void> {
    this.#claims.get(generationId)?.ended();
    this.#claims.delete(generationId);
    const hold = this.#options.liveHold(generationId);
    if (hold) await this.#options.releaseHold({ ...hold, generationId }, 0);
  }
}
