import type { OnSent } from '#core/batching/joined-calls.ts';
import type { Log } from '#core/log/log.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import {
  ChargeRefused,
  type ClaimedSettlement,
  dueNanoUsd,
  type Ledger,
  type Settlement,
} from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { Hold } from '../limits/limit-store.ts';
import type { SpoolMirror } from '../limits/spool-mirror.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { IdempotencyClaim } from './idempotency/claims.ts';
import type { RecentCharges } from './journal/recent-charges.ts';
import { MirroredCharges } from './spool/mirrored-charges.ts';
import type { Spool } from './spool/spool.ts';
import { createSpoolReplay, type SpoolReplay } from './spool/spool-replay.ts';
import type { SpoolRoom } from './spool/spool-room.ts';

/**
 * Outcome of a charge. `taken_over`: another request has the idempotency key now, and nothing was
 * charged. `lost`: neither ledger nor spool confirmed the charge.
 */
export type ChargeOutcome = 'charged' | 'taken_over' | 'spooled' | 'lost';

/** Outcome of a late charge. `dead_lettered`: the ledger refused it, and it is a dead letter. */
export type LateOutcome = 'charged' | 'taken_over' | 'dead_lettered';

export interface DurableChargesOptions {
  readonly ledger: Ledger;
  readonly spool: Spool;
  readonly recent: Pick<RecentCharges, 'note'>;
  readonly room: Pick<SpoolRoom, 'problem' | 'failed'>;
  /** Absent: no other process could charge what is spooled. */
  readonly mirror?: SpoolMirror | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
  /**
   * Records an uncharged attempt: the response was delivered, and its spooled charge was refused.
   */
  readonly uncharged: (settlement: Settlement) => void;
  /** Releases the hold of a settlement. Without a snapshot nothing was charged. Never rejects. */
  readonly releaseHold: (of: HoldOwner, tokensUsed: number, snapshot?: AccountSnapshot) => Promise<void>;
  /** Leaves the hold of a settlement what it is owed until its release. */
  readonly oweHold: (of: HoldOwner, tokensUsed: number, owedNanoUsd: NanoUsd) => void;
  /** Finds the hold of a generation, if this process still has it. */
  readonly liveHold: (generationId: string) => Hold | undefined;
}

export type HoldOwner = Pick<Settlement, 'generationId' | 'organizationId' | 'keyId'>;

/**
 * Makes durable charges: in the ledger, or in the spool while PostgreSQL is unavailable. The spool
 * is replayed to the ledger.
 */
export class DurableCharges {
  readonly #options: DurableChargesOptions;
  readonly #replay: SpoolReplay;
  readonly #mirrored: MirroredCharges | undefined;
  /**
   * Claims of charges that wait in the spool: they keep their idempotency keys until the replay.
   */
  readonly #waitingClaims = new Map<string, IdempotencyClaim>();
  /** Callbacks that end waits for PostgreSQL. */
  readonly #waits = new Set<() => void>();
  #spoolsAtOnce = false;

  constructor(options: DurableChargesOptions) {
    const { spool, mirror, log } = options;
    this.#options = options;
    this.#replay = createSpoolReplay({
      spool,
      charge: (settlement) => this.#chargeSpooled(settlement),
      forget: (generationId) => this.#forget(generationId),
      log,
    });
    const charge = (settlement: Settlement | ClaimedSettlement) => this.#chargeLate(settlement);
    this.#mirrored = mirror && new MirroredCharges({ mirror, spool, charge, log });
  }

  /** Charges a settlement. Rejects if the ledger refuses it; it is a dead letter then. */
  async charge(
    settlement: Settlement | ClaimedSettlement,
    claim?: IdempotencyClaim,
    onSent?: OnSent,
  ): Promise<ChargeOutcome> {
    const { metrics, log } = this.#options;
    if (this.#spoolsAtOnce) return this.#appendToSpool(settlement, claim);
    try {
      const outcome = await this.#untilEnded(this.#commit(settlement, onSent));
      if (outcome === 'charged') claim?.ended();
      else
        await this.#lose(settlement).catch((error: unknown) => log.warn({ err: error }, 'a loss could not be written'));
      return outcome;
    } catch (error) {
      metrics.settlementFailed();
      if (await this.#isDeadLettered(settlement, error, false)) throw error;
      const { generationId } = settlement;
      log.error({ err: error, generation_id: generationId }, 'PostgreSQL did not take a charge: spooling it');
      return this.#appendToSpool(settlement, claim);
    }
  }

  /**
   * Charges the response, or a part of it, of a process that ended. Rejects if the charge has to be
   * tried again.
   */
  async late(settlement: Settlement | ClaimedSettlement): Promise<LateOutcome> {
    const outcome = await this.#commit(settlement).catch(async (error: unknown) => {
      // A charge that the ledger refuses must not block the others.
      if (await this.#isDeadLettered(settlement, error, true)) return 'dead_lettered' as const;
      throw error;
    });
    if (outcome !== 'charged') await this.#options.releaseHold(settlement, 0);
    return outcome;
  }

  /**
   * Repeats a charge that the ledger may have lost. False: the ledger refuses it now. Rejects if it
   * has to be tried again.
   */
  async again(settlement: Settlement): Promise<boolean> {
    try {
      await this.#commit(settlement);
      return true;
    } catch (error) {
      if (!(error instanceof ChargeRefused)) throw error;
      // Not a dead letter: a replaced database, or one from before the organization existed, would
      // get thousands.
      const fields = { err: error, generation_id: settlement.generationId, organization_id: settlement.organizationId };
      this.#options.log.error(fields, 'not charged again');
      return false;
    }
  }

  /** Charges what waits in the spool. Rejects while the ledger cannot take it. */
  replay(): Promise<void> {
    return this.#replay.replay();
  }

  /**
   * Reason to admit nothing: new requests could not be charged, or spooled charges are not in the
   * balances yet. `undefined`: none.
   */
  refusesBecause(): string | undefined {
    const { spool, room } = this.#options;
    return spool.pending().length > 0 ? 'charges wait for PostgreSQL: completions are refused' : room.problem();
  }

  /**
   * Bounds the wait for PostgreSQL when the process ends. Unconfirmed charges go to the spool then.
   */
  spoolAfter(delayMs: number): void {
    setTimeout(() => {
      this.#spoolsAtOnce = true;
      for (const endWait of this.#waits) endWait();
    }, delayMs).unref();
  }

  async close(): Promise<void> {
    await this.#mirrored?.close();
    await this.#replay.close();
  }

  /**
   * Waits for a commit until `spoolAfter` ends the wait. PostgreSQL may still take the charge;
   * ledger and spool together charge once.
   */
  #untilEnded<T>(committing: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const endWait = () => reject(new StoreUnavailable('the process ends, and PostgreSQL has not answered yet'));
      this.#waits.add(endWait);
      committing.finally(() => this.#waits.delete(endWait)).then(resolve, reject);
    });
  }

  async #commit(settlement: Settlement | ClaimedSettlement, onSent?: OnSent): Promise<'charged' | 'taken_over'> {
    const { ledger, recent, releaseHold } = this.#options;
    const snapshot = await (isClaimed(settlement)
      ? ledger.chargeClaimed(settlement, onSent)
      : ledger.charge(settlement, onSent));
    if (snapshot === undefined) return 'taken_over';
    recent.note(settlement, snapshot.ledgerEpoch);
    void releaseHold(settlement, tokensOf(settlement), snapshot);
    return 'charged';
  }

  async #appendToSpool(
    settlement: Settlement | ClaimedSettlement,
    claim?: IdempotencyClaim,
  ): Promise<'spooled' | 'taken_over' | 'lost'> {
    const { spool, room, metrics, log, oweHold } = this.#options;
    const { generationId } = settlement;
    if (claim) this.#waitingClaims.set(generationId, claim);
    try {
      await spool.append(settlement);
    } catch (error) {
      this.#waitingClaims.delete(generationId);
      room.failed();
      metrics.chargeLost();
      log.error(
        { err: error, generation_id: generationId },
        'a charge is lost: neither PostgreSQL nor the spool took it',
      );
      return 'lost';
    }
    oweHold(settlement, tokensOf(settlement), dueNanoUsd(settlement));
    const copied = this.#mirrored?.add(settlement);
    // The response waits until the mirror has the charge: another process with the same
    // Idempotency-Key asks the mirror who may go on.
    if (!isClaimed(settlement) || settlement.claim.answer === undefined || (await copied) !== 'taken_over')
      return 'spooled';
    const { answer: _answer, ...rest } = settlement.claim;
    // Replaces the line that would be charged. If it cannot be written, the owner of the key is
    // decided at the replay.
    await spool.append({ ...settlement, claim: { ...rest, takenOver: true } }).catch(room.failed);
    return 'taken_over';
  }

  async #chargeSpooled(settlement: Settlement | ClaimedSettlement): Promise<void> {
    await this.#chargeLate(settlement);
    this.#endClaim(settlement.generationId);
    await this.#mirrored?.remove(settlement);
  }

  /** Charges what this or another process spooled. */
  async #chargeLate(settlement: Settlement | ClaimedSettlement): Promise<void> {
    const outcome = await this.late(settlement);
    if (outcome === 'charged') return;
    if (outcome === 'taken_over') {
      await this.#lose(settlement);
      const { generationId } = settlement;
      this.#options.log.warn(
        { generation_id: generationId },
        'a spooled attempt was taken over by another: it is not charged',
      );
    }
    // A charge that was taken over before it was spooled has its record already.
    if (!isClaimed(settlement) || settlement.claim.takenOver !== true) this.#options.uncharged(settlement);
  }

  /** Records a loss: the provider is paid for a response whose key another attempt has. */
  async #lose(settlement: Settlement): Promise<void> {
    const { generationId, organizationId, model, provider } = settlement;
    const loss = { reason: 'taken_over', amountNanoUsd: dueNanoUsd(settlement) } as const;
    await this.#options.ledger.lose({ generationId, organizationId, model, provider, ...loss });
  }

  /** Ends what waits for a charge that is never made. */
  async #forget(generationId: string): Promise<void> {
    this.#endClaim(generationId);
    const hold = this.#options.liveHold(generationId);
    if (hold) await this.#options.releaseHold({ ...hold, generationId }, 0);
  }

  #endClaim(generationId: string): void {
    this.#waitingClaims.get(generationId)?.ended();
    this.#waitingClaims.delete(generationId);
  }

  /**
   * Stores a charge as a dead letter if the ledger refused its content. After any other error
   * PostgreSQL may take it later.
   */
  async #isDeadLettered(
    settlement: Settlement | ClaimedSettlement,
    error: unknown,
    delivered: boolean,
  ): Promise<boolean> {
    const { ledger, metrics, log } = this.#options;
    if (!(error instanceof ChargeRefused)) return false;
    const { generationId } = settlement;
    try {
      await ledger.deadLetter(settlement, error, delivered);
    } catch (problem) {
      log.error(
        { err: problem, generation_id: generationId },
        'a charge that the ledger refused could not be kept there',
      );
      return false;
    }
    metrics.chargeDeadLettered();
    log.error(
      { err: error, generation_id: generationId },
      'the ledger refused a charge: it is in dead_letters, and not charged',
    );
    return true;
  }
}

function tokensOf({ usage }: Settlement): number {
  return usage.promptTokens + usage.completionTokens;
}
