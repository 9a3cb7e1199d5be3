import type { Clock } from '#core/clock.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { HoldRelease, LimitStore } from '../limits/limit-store.ts';
import type { RequestTrace } from '../telemetry/request-trace.ts';
import type { BillableHold, HoldTerms } from './billable-hold.ts';
import type { HoldOwner } from './charge-committer.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';
import type { Intent, LeftIntent } from './charge-log/intent.ts';
import { DurableCharges, type DurableChargesOptions } from './durable-charges.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import { createLateReleases, type LateReleases } from './late-releases.ts';
import { LedgerChanges } from './ledger-changes.ts';
import { OpenHold, type OpenHoldParts } from './open-hold.ts';
import { createRecovery } from './recovery.ts';
import type { Shipper } from './shipper.ts';
import { unchargedSettlement } from './uncharged.ts';

export interface AccountingOptions
  extends Pick<DurableChargesOptions, 'ledger' | 'room' | 'durableIn' | 'mirror' | 'metrics' | 'log' | 'after'> {
  readonly idempotency: Pick<IdempotencyStore, 'free'>;
  readonly limits: Pick<LimitStore, 'release'>;
  readonly attempts: ProviderAttempts;
  readonly holds: HoldKeeper;
  readonly chargeLog: Pick<
    ChargeLog,
    'open' | 'append' | 'waiting' | 'read' | 'committed' | 'sendAgain' | 'lastCommits'
  >;
  /** Other processes notice a new ledger epoch within this time. 0: there are no others. */
  readonly othersTakeMs: number;
  readonly clock: Clock;
}

/** Turns holds into charges: every admitted request ends in exactly one charge or one release. */
export class Accounting {
  /** Sends charges that wait in the log to the ledger. */
  readonly shipper: Shipper;
  /** Settles what a former process left. Repeating it is safe. Rejects with StoreUnavailable. */
  readonly recover: (left: readonly LeftIntent[]) => Promise<void>;
  readonly #options: AccountingOptions;
  readonly #charges: DurableCharges;
  readonly #late: LateReleases;
  readonly #changes: LedgerChanges;
  readonly #holdParts: OpenHoldParts;
  readonly #underWay = new Set<OpenHold>();
  /** Calls of the limit store that it has not answered. */
  readonly #releasing = new Set<Promise<void>>();
  #ending = false;

  constructor(options: AccountingOptions) {
    const { limits, attempts, holds, clock, metrics } = options;
    const releaseHold: DurableChargesOptions['releaseHold'] = (settled, tokensUsed, snapshot) =>
      // Without a snapshot another process or request may have made the charge.
      this.#release(settled, snapshot === undefined ? { tokensUsed, mayBeCharged: true } : { tokensUsed, snapshot });
    const charges = new DurableCharges({
      ...options,
      releaseHold,
      oweHold: (settled, tokensUsed, owedNanoUsd) => {
        holds.owe(settled.generationId, owedNanoUsd);
        void this.#tellStore(settled, { tokensUsed, owedNanoUsd });
      },
      uncharged: (settlement) => attempts.record(unchargedSettlement(settlement)),
      liveHold: (generationId) => holds.live().find(({ holdId }) => holdId === generationId),
    });
    this.#options = options;
    this.#charges = charges;
    this.shipper = charges.shipper;
    this.#late = createLateReleases(limits, clock);
    this.recover = createRecovery({ ...options, charge: (settlement) => charges.late(settlement), releaseHold });
    this.#changes = new LedgerChanges({ ...options, chargeAgain: (settlement) => charges.again(settlement) });
    this.#holdParts = {
      ...{ charges, attempts, metrics },
      release: (hold, mayBeCharged) => this.#release(hold, { tokensUsed: 0, mayBeCharged }),
      ended: (hold) => void this.#underWay.delete(hold),
    };
  }

  /** Opens the hold of an admitted request. `trace`: present if the request is traced. */
  open(terms: HoldTerms, trace?: RequestTrace): BillableHold {
    const { holds, chargeLog } = this.#options;
    const { generationId: holdId, organizationId, keyId, day, holdNanoUsd, totalTimeoutMs } = terms;
    const hold = new OpenHold(this.#holdParts, terms, chargeLog.open(intentOf(terms)), trace);
    this.#underWay.add(hold);
    if (this.#ending) hold.end();
    holds.keep({ holdId, organizationId, keyId, day, holdNanoUsd, totalTimeoutMs });
    return hold;
  }

  /** Releases the hold that an admission with an unknown result may have taken. */
  releaseUnknown({ generationId: holdId, organizationId, keyId }: HoldOwner): void {
    const nowMs = this.#options.clock.nowMs();
    this.#late.add({ holdId, organizationId, keyId, nowMs, tokensUsed: 0 });
  }

  /** Notes the ledger epoch of a read. If the epoch is new, recent charges are checked again. */
  sees(ledgerEpoch: string): void {
    this.#changes.sees(ledgerEpoch);
  }

  /** Repeats recent charges that the ledger lacks. Rejects with StoreUnavailable. */
  catchUp(): Promise<void> {
    return this.#changes.catchUp();
  }

  /** Why completions are refused: charges wait too long or are not durable. `undefined`: none. */
  refusesBecause(): string | undefined {
    return this.#ending ? 'the process ends' : (this.#changes.refusesBecause() ?? this.#charges.refusesBecause());
  }

  /** Ends all requests that hold money: the limit store lost their holds, or the process ends. */
  cut(): void {
    for (const hold of this.#underWay) hold.end();
  }

  /**
   * Ends the process's requests. Nothing more is admitted, every request that holds money ends at
   * once, and after `withinMs` no response waits for PostgreSQL any more.
   */
  end(withinMs: number): void {
    this.#ending = true;
    this.cut();
    setTimeout(() => this.shipper.waitNoMore(), withinMs).unref();
  }

  /** Resolves when the limit store was told of the last charges, if it can be. */
  async close(): Promise<void> {
    await this.#changes.close();
    await this.#charges.close();
    await Promise.all(this.#releasing);
    await this.#late.close();
  }

  #release(owner: HoldOwner, what: Pick<HoldRelease, 'tokensUsed' | 'snapshot' | 'mayBeCharged'>): Promise<void> {
    this.#options.holds.drop(owner.generationId);
    return this.#tellStore(owner, what);
  }

  #tellStore(
    { generationId, organizationId, keyId }: HoldOwner,
    what: Pick<HoldRelease, 'tokensUsed' | 'snapshot' | 'mayBeCharged' | 'owedNanoUsd'>,
  ): Promise<void> {
    const { limits, clock, log } = this.#options;
    const given = { ...what, holdId: generationId, organizationId, keyId, nowMs: clock.nowMs() };
    const releasing = limits
      .release(given)
      .catch((error: unknown) => {
        this.#late.add(given);
        log.warn({ err: error, generation_id: generationId }, 'a hold could not be released yet');
      })
      .finally(() => this.#releasing.delete(releasing));
    this.#releasing.add(releasing);
    return releasing;
  }
}

function intentOf({ claim, totalTimeoutMs: _, ...intent }: HoldTerms): Intent {
  if (claim === undefined) return intent;
  return { ...intent, claim: { keyHash: claim.keyHash, bodyHash: claim.bodyHash } };
}
