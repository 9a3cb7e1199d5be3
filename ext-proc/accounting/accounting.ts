import type { Account, Produced } from '../delivery/delivery.ts';
import type { Clock, UtcDay } from '../domain/clock.ts';
import { type NanoUsd, usdNumber } from '../domain/money.ts';
import { chargeNanoUsd, type Prices } from '../domain/pricing.ts';
import type { AccountSnapshot } from '../domain/principal.ts';
import { refuse } from '../errors/refusal.ts';
import type { KeyedAttempt } from '../idempotency/claims.ts';
import { keyInFlight } from '../idempotency/idempotency-key.ts';
import type { ClaimedSettlement, Ledger, Settlement } from '../stores/ledger.ts';
import type { LimitStore } from '../stores/limit-store.ts';
import { isClaimed } from '../stores/settlement-json.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { HoldKeeper } from './holds.ts';
import type { Spool, SpooledCharge } from './spool.ts';

/** What an admission took, and what is needed to charge it. */
export interface Hold {
  readonly generationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly day: UtcDay;
  readonly model: string;
  readonly prices: Prices;
  readonly streamed: boolean;
  readonly createdAtMs: number;
  /** It has an Idempotency-Key. */
  readonly attempt?: KeyedAttempt;
}

/** Turns holds into charges: every admitted request ends in exactly one charge or one release. */
export interface Accounting {
  open(hold: Hold, taken: TakenHold): OpenHold;
  /** Takes what the spool holds to the ledger. Rejects with StoreUnavailable while that cannot be done. */
  replaySpool(): Promise<void>;
  /** True while charges wait in the spool: new completions are refused (DESIGN 3). */
  isSpooling(): boolean;
  close(): Promise<void>;
}

/** What the limit store gave. */
export interface TakenHold {
  readonly holdNanoUsd: NanoUsd;
  /** On the monotonic clock, before the store was asked. */
  readonly leasedAtMs: number;
}

export interface OpenHold extends Account {
  /** Aborts when the hold's lease cannot be relied on any longer: the provider has to be cancelled and what it produced charged at once. */
  readonly leaseLost: AbortSignal;
  /** What was charged; for the log. */
  charged(): Settlement | undefined;
}

export interface AccountingOptions {
  readonly ledger: Ledger;
  readonly limits: LimitStore;
  readonly holds: HoldKeeper;
  readonly spool: Spool;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

const REPLAY_EVERY_MS = 1000;
/** Charges that are replayed together share commits; all of them are in memory, with their answers. */
const REPLAYED_AT_ONCE = { charges: 100, bytes: 16 * 1024 * 1024 };

/** `taken_over`: another attempt with the same Idempotency-Key has it now; nothing was charged. */
type Outcome = 'charged' | 'taken_over' | 'spooled' | 'lost';

export function createAccounting(options: AccountingOptions): Accounting {
  const { ledger, limits, holds, spool, clock, metrics, log } = options;
  let replaying: Promise<void> | undefined;
  /** Whose charges wait in the spool: they keep their keys until then. */
  const spooledAttempts = new Map<string, KeyedAttempt>();
  const timer = setInterval(() => {
    if (spool.pending().length > 0) replaySpool().catch(() => undefined);
  }, REPLAY_EVERY_MS);
  timer.unref();

  async function releaseHold(
    settled: Pick<Settlement, 'generationId' | 'organizationId' | 'keyId'>,
    tokensUsed: number,
    snapshot?: AccountSnapshot,
  ) {
    const { generationId, organizationId, keyId } = settled;
    holds.drop(generationId);
    try {
      await limits.release({
        holdId: generationId,
        organizationId,
        keyId,
        nowMs: clock.nowMs(),
        tokensUsed,
        ...(snapshot ? { snapshot } : {}),
      });
    } catch (error) {
      // The lease lapses by itself; until then the store errs on the low side.
      log.warn({ err: error, generation_id: generationId }, 'a hold could not be released');
    }
  }

  async function settle(settlement: Settlement | ClaimedSettlement): Promise<Outcome> {
    try {
      return await commit(settlement);
    } catch (error) {
      metrics.settlementFailed();
      const { generationId } = settlement;
      if (error instanceof StoreUnavailable) {
        log.error({ err: error, generation_id: generationId }, 'PostgreSQL did not take a charge: spooling it');
        return (await spooled(settlement)) ? 'spooled' : 'lost';
      }
      await bury(settlement, error).catch(() => spooled(settlement));
      throw error;
    }
  }

  async function commit(settlement: Settlement | ClaimedSettlement): Promise<'charged' | 'taken_over'> {
    const snapshot = isClaimed(settlement) ? await ledger.settleClaimed(settlement) : await ledger.settle(settlement);
    if (snapshot === undefined) return 'taken_over';
    await releaseHold(settlement, tokensOf(settlement), snapshot);
    return 'charged';
  }

  function replaySpool(): Promise<void> {
    replaying ??= replayAll().finally(() => {
      replaying = undefined;
    });
    return replaying;
  }

  async function replayAll(): Promise<void> {
    for (let group = firstOf(spool.pending()); group.length > 0; group = firstOf(spool.pending())) {
      const results = await Promise.allSettled(group.map(({ generationId }) => replay(generationId)));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    }
  }

  async function replay(generationId: string): Promise<void> {
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
    spooledAttempts.get(generationId)?.ended();
    spooledAttempts.delete(generationId);
    await spool.remove(generationId);
  }

  async function bury(settlement: Settlement | ClaimedSettlement, error: unknown): Promise<'buried'> {
    const { generationId } = settlement;
    await ledger.deadLetter(settlement, error);
    log.error(
      { err: error, generation_id: generationId },
      'the ledger refused a charge: it is in dead_letters, and not charged',
    );
    return 'buried';
  }

  function open(hold: Hold, { holdNanoUsd, leasedAtMs }: TakenHold): OpenHold {
    let state: 'held' | 'charging' | 'charged' | 'released' = 'held';
    let charged: Settlement | undefined;
    const { generationId: holdId, organizationId, keyId, day } = hold;
    const leaseLost = holds.keep({ holdId, organizationId, keyId, day, holdNanoUsd }, leasedAtMs);
    return {
      leaseLost,
      charged: () => charged,
      costUsd: (usage) => usdNumber(chargeNanoUsd(hold.prices, usage)),
      async charge(produced, answer) {
        if (state !== 'held') throw new Error(`a hold is charged once, this one is ${state}`);
        state = 'charging';
        const settlement = settlementOf(hold, produced, answer);
        const outcome = await settle(settlement);
        if (outcome === 'lost') return refuse('no_capacity');
        if (outcome === 'taken_over') return keyInFlight();
        state = 'charged';
        if (hold.attempt && outcome === 'spooled') spooledAttempts.set(holdId, hold.attempt);
        else hold.attempt?.ended();
        charged = settlement;
        const costUsd = usdNumber(settlement.costNanoUsd);
        const { promptTokens, completionTokens } = produced.usage;
        metrics.charged({ model: hold.model, costUsd, promptTokens, completionTokens, counted: produced.usageCounted });
        return undefined;
      },
      async release() {
        if (state === 'charged' || state === 'released') return;
        state = 'released';
        await Promise.all([releaseHold(hold, 0), hold.attempt?.free()]);
      },
    };
  }

  async function spooled(settlement: Settlement | ClaimedSettlement): Promise<boolean> {
    try {
      await spool.append(settlement);
      return true;
    } catch (error) {
      log.error(
        { err: error, generation_id: settlement.generationId },
        'a charge is lost: neither PostgreSQL nor the spool took it',
      );
      return false;
    }
  }

  return {
    open,
    replaySpool,
    isSpooling: () => spool.pending().length > 0,
    async close() {
      clearInterval(timer);
      await replaying?.catch(() => undefined);
    },
  };
}

function settlementOf(
  { attempt, ...hold }: Hold,
  produced: Produced,
  answer: Buffer | undefined,
): Settlement | ClaimedSettlement {
  const settlement = { ...hold, ...produced, costNanoUsd: chargeNanoUsd(hold.prices, produced.usage) };
  if (attempt === undefined) return settlement;
  const { keyHash, bodyHash } = attempt;
  return { ...settlement, claim: { keyHash, bodyHash, ...(answer ? { answer: attempt.seal(answer) } : {}) } };
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
