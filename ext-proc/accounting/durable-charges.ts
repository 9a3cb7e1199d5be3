import type { AccountSnapshot } from '../domain/principal.ts';
import type { KeyedAttempt } from '../idempotency/claims.ts';
import type { ClaimedSettlement, Ledger, Settlement } from '../stores/ledger.ts';
import { isClaimed } from '../stores/settlement-json.ts';
import type { OnSent } from '../stores/store-figures.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Spool, SpooledCharge } from './spool.ts';
import type { SpoolRoom } from './spool-room.ts';

/** Makes charges that last: in the ledger, or while PostgreSQL is away in the spool, from where they are taken to the ledger (DESIGN 3). */
export interface DurableCharges {
  /** Rejects when the ledger finds the charge impossible; then it is among the dead letters. */
  make(settlement: Settlement | ClaimedSettlement, attempt?: KeyedAttempt, onSent?: OnSent): Promise<ChargeOutcome>;
  /** Takes what the spool holds to the ledger. Rejects with StoreUnavailable while that cannot be done. */
  replay(): Promise<void>;
  /** Why nothing new should be admitted: it could not be charged, or what waits is not in the balances yet. `undefined`: no reason. */
  refusesBecause(): string | undefined;
  close(): Promise<void>;
}

/**
 * `taken_over`: another attempt with the same Idempotency-Key has it now; nothing was charged. `lost`: neither ledger nor spool confirmed it.
 */
export type ChargeOutcome = 'charged' | 'taken_over' | 'spooled' | 'lost';

export interface DurableChargesOptions {
  readonly ledger: Ledger;
  readonly spool: Spool;
  readonly room: Pick<SpoolRoom, 'problem' | 'failed'>;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Frees what was held for it. Without a snapshot nothing was charged. Never rejects. */
  readonly releaseHold: (settlement: Settlement, tokensUsed: number, snapshot?: AccountSnapshot) => Promise<void>;
}

const REPLAY_EVERY_MS = 1000;
/** Charges that are replayed together share commits; all of them are in memory, with their answers. */
const REPLAYED_AT_ONCE = { charges: 100, bytes: 16 * 1024 * 1024 };

export function createDurableCharges(options: DurableChargesOptions): DurableCharges {
  const { ledger, spool, room, metrics, log, releaseHold } = options;
  let replaying: Promise<void> | undefined;
  /** Whose charges wait in the spool: they keep their keys until then. */
  const waitingAttempts = new Map<string, KeyedAttempt>();
  const areWaiting = (): boolean => spool.pending().length > 0;
  const timer = setInterval(() => {
    if (areWaiting())
      replay().catch((error: unknown) => log.warn({ err: error }, 'the spool could not be replayed yet'));
  }, REPLAY_EVERY_MS);
  timer.unref();

  async function make(
    settlement: Settlement | ClaimedSettlement,
    attempt?: KeyedAttempt,
    onSent?: OnSent,
  ): Promise<ChargeOutcome> {
    try {
      const outcome = await commit(settlement, onSent);
      if (outcome === 'charged') attempt?.ended();
      return outcome;
    } catch (error) {
      metrics.settlementFailed();
      if (error instanceof StoreUnavailable) {
        const { generationId } = settlement;
        log.error({ err: error, generation_id: generationId }, 'PostgreSQL did not take a charge: spooling it');
        return appendToSpool(settlement, attempt);
      }
      await bury(settlement, error).catch(() => appendToSpool(settlement));
      throw error;
    }
  }

  async function commit(
    settlement: Settlement | ClaimedSettlement,
    onSent?: OnSent,
  ): Promise<'charged' | 'taken_over'> {
    const snapshot = await (isClaimed(settlement)
      ? ledger.settleClaimed(settlement, onSent)
      : ledger.settle(settlement, onSent));
    if (snapshot === undefined) return 'taken_over';
    await releaseHold(settlement, tokensOf(settlement), snapshot);
    return 'charged';
  }

  async function appendToSpool(
    settlement: Settlement | ClaimedSettlement,
    attempt?: KeyedAttempt,
  ): Promise<'spooled' | 'lost'> {
    const { generationId } = settlement;
    if (attempt) waitingAttempts.set(generationId, attempt);
    try {
      await spool.append(settlement);
      return 'spooled';
    } catch (error) {
      waitingAttempts.delete(generationId);
      room.failed();
      metrics.chargeLost();
      log.error(
        { err: error, generation_id: generationId },
        'a charge is lost: neither PostgreSQL nor the spool took it',
      );
      return 'lost';
    }
  }

  function replay(): Promise<void> {
    replaying ??= replayAll().finally(() => {
      replaying = undefined;
    });
    return replaying;
  }

  async function replayAll(): Promise<void> {
    for (let group = firstOf(spool.pending()); group.length > 0; group = firstOf(spool.pending())) {
      const results = await Promise.allSettled(group.map(({ generationId }) => replayOne(generationId)));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    }
  }

  async function replayOne(generationId: string): Promise<void> {
    const settlement = await spool.read(generationId);
    if (settlement === undefined) return;
    const outcome = await commit(settlement).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) throw error;
      // A row that PostgreSQL will never take must not keep the others waiting.
      return bury(settlement, error);
    });
    if (outcome !== 'charged') await releaseHold(settlement, 0);
    if (outcome === 'taken_over')
      log.warn({ generation_id: generationId }, 'a spooled attempt was taken over by another: it is not charged');
    waitingAttempts.get(generationId)?.ended();
    waitingAttempts.delete(generationId);
    await spool.remove(generationId);
  }

  async function bury(settlement: Settlement | ClaimedSettlement, error: unknown): Promise<'buried'> {
    await ledger.deadLetter(settlement, error);
    metrics.chargeBuried();
    log.error(
      { err: error, generation_id: settlement.generationId },
      'the ledger refused a charge: it is in dead_letters, and not charged',
    );
    return 'buried';
  }

  return {
    make,
    replay,
    refusesBecause: () => (areWaiting() ? 'charges wait for PostgreSQL: completions are refused' : room.problem()),
    async close() {
      clearInterval(timer);
      await replaying?.catch(() => undefined);
    },
  };
}

/** As many from the front as may be in memory at once, at least one. */
function firstOf(pending: readonly SpooledCharge[]): readonly SpooledCharge[] {
  let bytes = 0;
  const over = pending.findIndex((charge) => {
    bytes += charge.bytes;
    return bytes > REPLAYED_AT_ONCE.bytes;
  });
  return pending.slice(0, Math.min(REPLAYED_AT_ONCE.charges, over === -1 ? pending.length : Math.max(1, over)));
}

function tokensOf({ usage }: Settlement): number {
  return usage.promptTokens + usage.completionTokens;
}
