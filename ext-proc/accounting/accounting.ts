import type { Account, Produced } from '../delivery/delivery.ts';
import type { Clock, UtcDay } from '../domain/clock.ts';
import { type NanoUsd, usdNumber } from '../domain/money.ts';
import { chargeNanoUsd, type Prices } from '../domain/pricing.ts';
import type { AccountSnapshot } from '../domain/principal.ts';
import { refuse } from '../errors/refusal.ts';
import type { Ledger, Settlement } from '../stores/ledger.ts';
import type { LimitStore } from '../stores/limit-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { HoldKeeper } from './holds.ts';
import { encodeSettlement, type Spool } from './spool.ts';

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

export function createAccounting(options: AccountingOptions): Accounting {
  const { ledger, limits, holds, spool, clock, metrics, log } = options;
  let replaying: Promise<void> | undefined;
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

  async function settle(settlement: Settlement): Promise<boolean> {
    try {
      const snapshot = await ledger.settle(settlement);
      await releaseHold(settlement, tokensOf(settlement), snapshot);
      return true;
    } catch (error) {
      metrics.settlementFailed();
      if (!(error instanceof StoreUnavailable)) throw error;
      log.error(
        { err: error, generation_id: settlement.generationId },
        'PostgreSQL did not take a charge: spooling it',
      );
      return false;
    }
  }

  function replaySpool(): Promise<void> {
    replaying ??= replayAll().finally(() => {
      replaying = undefined;
    });
    return replaying;
  }

  async function replayAll(): Promise<void> {
    for (const settlement of spool.pending()) {
      const snapshot = await ledger.settle(settlement).catch((error: unknown) => refusedByLedger(settlement, error));
      await releaseHold(settlement, tokensOf(settlement), snapshot);
      await spool.remove(settlement.generationId);
    }
  }

  /** A row that PostgreSQL will never take must not keep the others waiting: its figures go to the log, for the operator to correct. */
  function refusedByLedger(settlement: Settlement, error: unknown): undefined {
    if (error instanceof StoreUnavailable) throw error;
    log.error(
      { err: error, settlement: encodeSettlement(settlement) },
      'the ledger refused a spooled charge: it is not charged',
    );
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
      async charge(produced) {
        if (state !== 'held') throw new Error(`a hold is charged once, this one is ${state}`);
        state = 'charging';
        const settlement = settlementOf(hold, produced);
        const durable = (await settle(settlement)) || (await spooled(settlement));
        if (!durable) return refuse('no_capacity');
        state = 'charged';
        charged = settlement;
        const costUsd = usdNumber(settlement.costNanoUsd);
        const { promptTokens, completionTokens } = produced.usage;
        metrics.charged({ model: hold.model, costUsd, promptTokens, completionTokens, counted: produced.usageCounted });
        return undefined;
      },
      async release() {
        if (state === 'charged' || state === 'released') return;
        state = 'released';
        await releaseHold(hold, 0);
      },
    };
  }

  async function spooled(settlement: Settlement): Promise<boolean> {
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

function settlementOf(hold: Hold, produced: Produced): Settlement {
  return { ...hold, ...produced, costNanoUsd: chargeNanoUsd(hold.prices, produced.usage) };
}

function tokensOf({ usage }: Settlement): number {
  return usage.promptTokens + usage.completionTokens;
}
