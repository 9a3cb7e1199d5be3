import type { OnSent } from '#core/batching/joined-calls.ts';
import type { Clock } from '#core/clock.ts';
import { refuse } from '#core/errors/refusal.ts';
import type { Log } from '#core/log/log.ts';
import { usdNumber } from '#core/money.ts';
import { listNanoUsd, priced } from '#core/pricing.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { tierIn, tierWord } from '#core/service-tiers.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import { type ClaimedSettlement, dueNanoUsd, type Ledger, type Settlement } from '#database/ledger/ledger.ts';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import type { HoldRelease, LimitStore } from '../limits/limit-store.ts';
import type { SpoolMirror } from '../limits/spool-mirror.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestTrace, Span } from '../telemetry/request-trace.ts';
import type { BillableHold, HoldTerms } from './billable-hold.ts';
import { createDurableCharges, type HoldOwner } from './durable-charges.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import { keyInFlight } from './idempotency/idempotency-key.ts';
import type { AskedTarget, Intent, LeftIntent } from './journal/intent.ts';
import type { IntentJournal } from './journal/intent-journal.ts';
import type { RecentCharges } from './journal/recent-charges.ts';
import { createLateReleases } from './late-releases.ts';
import { createLedgerChanges } from './ledger-changes.ts';
import { providerCostNanoUsd } from './provider-cost.ts';
import { createRecovery } from './recovery.ts';
import type { Spool } from './spool/spool.ts';
import type { SpoolRoom } from './spool/spool-room.ts';
import { providerAttempt, unchargedSettlement } from './uncharged.ts';

/** Turns holds into charges: every admitted request ends in exactly one charge or one release. */
export interface Accounting {
  /** Opens the hold of an admitted request. `trace`: present if the request is traced. */
  open(terms: HoldTerms, trace?: RequestTrace): BillableHold;
  /** Releases whatever an admission took whose result is unknown. */
  giveBack(admission: HoldOwner): void;
  /** Charges what waits in the spool. Rejects while the ledger cannot take it. */
  replaySpool(): Promise<void>;
  /**
   * Settles requests that a former process left in its journal. Rejects with StoreUnavailable if
   * that is impossible now. Repeating it is safe.
   */
  recover(left: readonly LeftIntent[]): Promise<void>;
  /** Notes the ledger epoch of a read. After another epoch, recent charges are checked again. */
  sees(ledgerEpoch: string): void;
  /**
   * Repeats recent charges that the ledger lacks. Rejects with StoreUnavailable if that is
   * impossible now.
   */
  catchUp(): Promise<void>;
  /**
   * Reason why new completions are refused: charges wait in the spool, or the spool could not take
   * any. `undefined`: none.
   */
  refusesBecause(): string | undefined;
  /**
   * Ends every request that holds money, because the owner of the limits does not know these holds.
   */
  cut(): void;
  /**
   * Ends the process's requests: nothing more is admitted, every request that holds money ends at
   * once, and a charge waits for PostgreSQL no longer than this.
   */
  end(withinMs: number): void;
  close(): Promise<void>;
}

export interface AccountingOptions {
  readonly ledger: Ledger;
  readonly idempotency: Pick<IdempotencyStore, 'free'>;
  readonly limits: LimitStore;
  readonly attempts: ProviderAttempts;
  readonly holds: HoldKeeper;
  readonly spool: Spool;
  readonly room: Pick<SpoolRoom, 'problem' | 'failed'>;
  /** Absent: no other process shares the limits. */
  readonly mirror?: SpoolMirror | undefined;
  /** Returns the journal when a request begins. The former process's journal is settled before. */
  readonly journal: () => Pick<IntentJournal, 'open'>;
  readonly recent: Pick<RecentCharges, 'note' | 'sendAgain'>;
  /** Other processes notice another ledger epoch within this time. 0: there are none. */
  readonly othersTakeMs: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

export function createAccounting(options: AccountingOptions): Accounting {
  const { limits, attempts, holds, journal, clock, metrics, log } = options;
  const charges = createDurableCharges({
    ...options,
    releaseHold,
    uncharged: (settlement) => attempts.record(unchargedSettlement(settlement)),
    liveHold: (generationId) => holds.live().find(({ holdId }) => holdId === generationId),
  });
  const recovery = createRecovery({ ...options, charge: charges.late, releaseHold });
  const late = createLateReleases(limits, clock);
  const changes = createLedgerChanges({ ...options, chargeAgain: charges.again });
  /**
   * Abort controllers of deliveries, one each: 1 us. In a shared one, removing a listener takes 16
   * us among 3,000 (measured).
   */
  const underWay = new Set<AbortController>();
  let ending = false;

  /** Releases a hold. Without a snapshot another process or request may have charged it. */
  function releaseHold(settled: HoldOwner, tokensUsed: number, snapshot?: AccountSnapshot) {
    return release(settled, snapshot === undefined ? { tokensUsed, mayBeCharged: true } : { tokensUsed, snapshot });
  }

  async function release(
    { generationId, organizationId, keyId }: HoldOwner,
    what: Pick<HoldRelease, 'tokensUsed' | 'snapshot' | 'mayBeCharged'>,
  ) {
    holds.drop(generationId);
    const given = { ...what, holdId: generationId, organizationId, keyId, nowMs: clock.nowMs() };
    try {
      await limits.release(given);
    } catch (error) {
      late.add(given);
      log.warn({ err: error, generation_id: generationId }, 'a hold could not be released yet');
    }
  }

  /** Neither the prices nor the costs know the tier that served. */
  function noteUnknownTier({ model, priceTable }: HoldTerms, { serviceTier }: ProviderOutput, asked?: AskedTarget) {
    if (serviceTier === undefined || tierIn(priceTable, serviceTier) !== undefined) return;
    if (asked?.costTable && tierIn(asked.costTable, serviceTier) !== undefined) return;
    metrics.unknownTier(model, tierWord(serviceTier));
  }

  function open(terms: HoldTerms, trace?: RequestTrace): BillableHold {
    let state: 'held' | 'charging' | 'charged' | 'released' = 'held';
    let charged: ReturnType<BillableHold['charged']>;
    const { generationId: holdId, organizationId, keyId, day, holdNanoUsd, totalTimeoutMs, claim } = terms;
    const end = new AbortController();
    underWay.add(end);
    if (ending) end.abort();
    const journalled = journal().open(intentOf(terms));
    /** Target that was asked last. */
    let asked: AskedTarget | undefined;
    holds.keep({ holdId, organizationId, keyId, day, holdNanoUsd, totalTimeoutMs });
    return {
      mustEnd: end.signal,
      charged: () => charged,
      costUsd: (metered) =>
        usdNumber(dueNanoUsd({ ...priced({ ...terms, sentTier: asked?.sentTier }, metered), holdNanoUsd })),
      asked({ provider, model, costTable }, sentTier) {
        asked = { provider: provider.name, providerModel: model, costTable, sentTier };
        journalled.asked(asked);
      },
      delivers: journalled.delivers,
      outputEnded: ({ counted, ...metered }) => journalled.outputEnded({ ...metered, usageCounted: counted }),
      async charge(produced, response) {
        if (state !== 'held') throw new Error(`a hold is charged once, this one is ${state}`);
        state = 'charging';
        const sealed = claim && response ? await claim.seal(response) : undefined;
        const settlement = settlementOf(terms, produced, asked, sealed);
        const step = trace?.step('settle');
        const outcome = await charges.make(settlement, claim, step && noteSent(step)).finally(journalled.settled);
        step?.set('gateway.settlement.outcome', outcome);
        step?.end();
        if (outcome === 'lost') return refuse('no_capacity');
        if (outcome === 'taken_over') return keyInFlight();
        state = 'charged';
        const costNanoUsd = dueNanoUsd(settlement);
        charged = { usage: settlement.usage, costNanoUsd };
        const costUsd = usdNumber(costNanoUsd);
        const { promptTokens, completionTokens } = produced.usage;
        metrics.charged({
          model: terms.model,
          costUsd,
          promptTokens,
          completionTokens,
          counted: isCountedResponse(produced),
        });
        noteUnknownTier(terms, produced, asked);
        return undefined;
      },
      uncharged: (attempt) => attempts.record(providerAttempt(terms, attempt)),
      async release() {
        underWay.delete(end);
        if (state === 'charged' || state === 'released') return;
        const mayBeCharged = state === 'charging';
        state = 'released';
        await Promise.all([release(terms, { tokensUsed: 0, mayBeCharged }), claim?.free()]);
        journalled.settled();
      },
    };
  }

  return {
    open,
    giveBack: ({ generationId: holdId, organizationId, keyId }) =>
      late.add({ holdId, organizationId, keyId, nowMs: clock.nowMs(), tokensUsed: 0 }),
    replaySpool: charges.replay,
    recover: recovery.settle,
    sees: changes.sees,
    catchUp: changes.catchUp,
    refusesBecause: () => (ending ? 'the process ends' : (changes.refusesBecause() ?? charges.refusesBecause())),
    cut() {
      for (const end of underWay) end.abort();
    },
    end(withinMs) {
      ending = true;
      for (const end of underWay) end.abort();
      charges.spoolAfter(withinMs);
    },
    async close() {
      await changes.close();
      await charges.close();
      await late.close();
    },
  };
}

function intentOf({ claim, totalTimeoutMs: _, ...intent }: HoldTerms): Intent {
  if (claim === undefined) return intent;
  return { ...intent, claim: { keyHash: claim.keyHash, bodyHash: claim.bodyHash } };
}

function noteSent(step: Span): OnSent {
  return (items) => {
    step.event('sent');
    step.set('gateway.batch.items', items);
  };
}

function settlementOf(
  terms: HoldTerms,
  produced: ProviderOutput,
  asked: Pick<AskedTarget, 'costTable' | 'sentTier'> = {},
  sealed?: Buffer,
): Settlement | ClaimedSettlement {
  const { generationId, organizationId, keyId, day, model, streamed, createdAtMs, holdNanoUsd, claim } = terms;
  const cost = providerCostNanoUsd(asked, produced);
  const list = listNanoUsd(terms, asked.sentTier, produced);
  const settlement = {
    ...produced,
    ...{ generationId, organizationId, keyId, day, model, streamed, createdAtMs, holdNanoUsd },
    ...(terms.user === undefined ? {} : { user: terms.user }),
    ...priced({ ...terms, sentTier: asked.sentTier }, produced),
    ...(cost === undefined ? {} : { providerCostNanoUsd: cost }),
    ...(list === undefined ? {} : { listNanoUsd: list }),
  };
  if (claim === undefined) return settlement;
  const { keyHash, bodyHash } = claim;
  return { ...settlement, claim: { keyHash, bodyHash, ...(sealed ? { answer: sealed } : {}) } };
}

/**
 * True if the gateway counted the usage. A client that left before the first event got no response
 * to count.
 */
function isCountedResponse({ usageCounted, cancelled, usage }: ProviderOutput): boolean {
  return usageCounted && !(cancelled && usage.completionTokens === 0);
}
