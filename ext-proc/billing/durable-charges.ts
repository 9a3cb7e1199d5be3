import type { OnSent } from '#core/batching/joined-calls.ts';
import type { Log } from '#core/log/log.ts';
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
import { createMirroredCharges } from './spool/mirrored-charges.ts';
import type { Spool } from './spool/spool.ts';
import { createSpoolReplay } from './spool/spool-replay.ts';
import type { SpoolRoom } from './spool/spool-room.ts';

/**
 * Makes durable charges: in the ledger, or in the spool while PostgreSQL is unavailable. The spool
 * is replayed to the ledger.
 */
export interface DurableCharges {
  /** Charges a settlement. Rejects if the ledger refuses it; it is a dead letter then. */
  make(settlement: Settlement | ClaimedSettlement, claim?: IdempotencyClaim, onSent?: OnSent): Promise<ChargeOutcome>;
  /**
   * Charges the response, or a part of it, of a process that ended. Rejects if the charge has to be
   * tried again.
   */
  late(settlement: Settlement | ClaimedSettlement): Promise<LateOutcome>;
  /**
   * Repeats a charge that the ledger may have lost. False: the ledger refuses it now. Rejects if it
   * has to be tried again.
   */
  again(settlement: Settlement): Promise<boolean>;
  /** Charges what waits in the spool. Rejects while the ledger cannot take it. */
  replay(): Promise<void>;
  /**
   * Reason to admit nothing: new requests could not be charged, or spooled charges are not in the
   * balances yet. `undefined`: none.
   */
  refusesBecause(): string | undefined;
  /**
   * Bounds the wait for PostgreSQL when the process ends. Unconfirmed charges go to the spool then.
   */
  spoolAfter(delayMs: number): void;
  close(): Promise<void>;
}

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
  /** Finds the hold of a generation, if this process still has it. */
  readonly liveHold: (generationId: string) => Hold | undefined;
}

export type HoldOwner = Pick<Settlement, 'generationId' | 'organizationId' | 'keyId'>;

export function createDurableCharges(options: DurableChargesOptions): DurableCharges {
  const { ledger, spool, recent, room, metrics, log, releaseHold, uncharged, liveHold } = options;
  /**
   * Claims of charges that wait in the spool: they keep their idempotency keys until the replay.
   */
  const waitingClaims = new Map<string, IdempotencyClaim>();
  /** Callbacks that end waits for PostgreSQL. */
  const waits = new Set<() => void>();
  let spoolsAtOnce = false;
  const spooled = createSpoolReplay({ spool, charge: chargeSpooled, forget, log });
  const mirrored =
    options.mirror && createMirroredCharges({ mirror: options.mirror, spool, charge: settleSpooled, log });

  async function make(
    settlement: Settlement | ClaimedSettlement,
    claim?: IdempotencyClaim,
    onSent?: OnSent,
  ): Promise<ChargeOutcome> {
    if (spoolsAtOnce) return appendToSpool(settlement, claim);
    try {
      const outcome = await untilEnded(commit(settlement, onSent));
      if (outcome === 'charged') claim?.ended();
      else await lose(settlement).catch((error: unknown) => log.warn({ err: error }, 'a loss could not be written'));
      return outcome;
    } catch (error) {
      metrics.settlementFailed();
      if (await isDeadLettered(settlement, error, false)) throw error;
      const { generationId } = settlement;
      log.error({ err: error, generation_id: generationId }, 'PostgreSQL did not take a charge: spooling it');
      return appendToSpool(settlement, claim);
    }
  }

  /**
   * Waits for a commit until it is ended by `spoolFromNow`. PostgreSQL may still take the charge;
   * ledger and spool together charge once.
   */
  function untilEnded<T>(committing: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const endWait = () => reject(new StoreUnavailable('the process ends, and PostgreSQL has not answered yet'));
      waits.add(endWait);
      committing.finally(() => waits.delete(endWait)).then(resolve, reject);
    });
  }

  function spoolFromNow(): void {
    spoolsAtOnce = true;
    for (const endWait of waits) endWait();
  }

  async function commit(
    settlement: Settlement | ClaimedSettlement,
    onSent?: OnSent,
  ): Promise<'charged' | 'taken_over'> {
    const snapshot = await (isClaimed(settlement)
      ? ledger.settleClaimed(settlement, onSent)
      : ledger.settle(settlement, onSent));
    if (snapshot === undefined) return 'taken_over';
    recent.note(settlement, snapshot.ledgerEpoch);
    await releaseHold(settlement, tokensOf(settlement), snapshot);
    return 'charged';
  }

  async function appendToSpool(
    settlement: Settlement | ClaimedSettlement,
    claim?: IdempotencyClaim,
  ): Promise<'spooled' | 'taken_over' | 'lost'> {
    const { generationId } = settlement;
    if (claim) waitingClaims.set(generationId, claim);
    try {
      await spool.append(settlement);
    } catch (error) {
      waitingClaims.delete(generationId);
      room.failed();
      metrics.chargeLost();
      log.error(
        { err: error, generation_id: generationId },
        'a charge is lost: neither PostgreSQL nor the spool took it',
      );
      return 'lost';
    }
    const copied = mirrored?.add(settlement);
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

  async function late(settlement: Settlement | ClaimedSettlement): Promise<LateOutcome> {
    const outcome = await commit(settlement).catch(async (error: unknown) => {
      // A charge that the ledger refuses must not block the others.
      if (await isDeadLettered(settlement, error, true)) return 'dead_lettered' as const;
      throw error;
    });
    if (outcome !== 'charged') await releaseHold(settlement, 0);
    return outcome;
  }

  async function chargeSpooled(settlement: Settlement | ClaimedSettlement): Promise<void> {
    await settleSpooled(settlement);
    endClaim(settlement.generationId);
    await mirrored?.remove(settlement);
  }

  /** Charges what this or another process spooled. */
  async function settleSpooled(settlement: Settlement | ClaimedSettlement): Promise<void> {
    const outcome = await late(settlement);
    if (outcome === 'charged') return;
    if (outcome === 'taken_over') {
      await lose(settlement);
      const { generationId } = settlement;
      log.warn({ generation_id: generationId }, 'a spooled attempt was taken over by another: it is not charged');
    }
    // A charge that was taken over before it was spooled has its record already.
    if (!isClaimed(settlement) || settlement.claim.takenOver !== true) uncharged(settlement);
  }

  /** Records a loss: the provider is paid for a response whose key another attempt has. */
  async function lose(settlement: Settlement): Promise<void> {
    const { generationId, organizationId, model, provider } = settlement;
    const amountNanoUsd = dueNanoUsd(settlement);
    await ledger.lose({ generationId, organizationId, reason: 'taken_over', amountNanoUsd, model, provider });
  }

  async function again(settlement: Settlement): Promise<boolean> {
    try {
      await commit(settlement);
      return true;
    } catch (error) {
      if (!(error instanceof ChargeRefused)) throw error;
      // Not a dead letter: a replaced database, or one from before the organization existed, would
      // get thousands.
      const { generationId, organizationId } = settlement;
      log.error({ err: error, generation_id: generationId, organization_id: organizationId }, 'not charged again');
      return false;
    }
  }

  async function forget(generationId: string): Promise<void> {
    endClaim(generationId);
    const hold = liveHold(generationId);
    if (hold) await releaseHold({ ...hold, generationId }, 0);
  }

  function endClaim(generationId: string): void {
    waitingClaims.get(generationId)?.ended();
    waitingClaims.delete(generationId);
  }

  /**
   * Stores a charge as a dead letter if the ledger refused its content. After any other error
   * PostgreSQL may take it later.
   */
  async function isDeadLettered(
    settlement: Settlement | ClaimedSettlement,
    error: unknown,
    delivered: boolean,
  ): Promise<boolean> {
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

  return {
    make,
    late,
    again,
    replay: spooled.replay,
    refusesBecause: () =>
      spool.pending().length > 0 ? 'charges wait for PostgreSQL: completions are refused' : room.problem(),
    spoolAfter: (delayMs) => void setTimeout(spoolFromNow, delayMs).unref(),
    async close() {
      await mirrored?.close();
      await spooled.close();
    },
  };
}

function tokensOf({ usage }: Settlement): number {
  return usage.promptTokens + usage.completionTokens;
}
