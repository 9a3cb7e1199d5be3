import type { Clock } from '#core/clock.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { RequestTrace } from '../telemetry/request-trace.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';
import type { UnsettledIntent } from './charge-log/intent.ts';
import { DurableCharges, type DurableChargesOptions } from './durable-charges.ts';
import type { HoldKeeper, HoldOwner } from './hold-keeper.ts';
import { LedgerChanges } from './ledger-changes.ts';
import { type HoldTerms, OpenHold, type OpenHoldParts } from './open-hold.ts';
import { createRecovery } from './recovery.ts';
import type { Shipper } from './shipper.ts';
import { unchargedSettlement } from './uncharged.ts';

export interface AccountingOptions
  extends Pick<DurableChargesOptions, 'ledger' | 'room' | 'durableIn' | 'mirror' | 'metrics' | 'log' | 'after'> {
  readonly idempotency: Pick<IdempotencyStore, 'free'>;
  readonly attempts: ProviderAttempts;
  readonly holds: HoldKeeper;
  readonly chargeLog: Pick<
    ChargeLog,
    'open' | 'append' | 'waiting' | 'read' | 'committed' | 'isFailing' | 'sendAgain' | 'lastCommits'
  >;
  /** Other processes notice a new ledger epoch within this time. 0: there are no others. */
  readonly othersTakeMs: number;
  readonly clock: Clock;
}

/** Turns holds into charges: every admitted request ends in exactly one charge or one release. */
export class Accounting {
  /** Sends charges that wait in the log to the ledger. */
  readonly shipper: Shipper;
  /** Repeats recent charges that the ledger lacks. */
  readonly ledgerChanges: LedgerChanges;
  /** Settles what a former process left. Repeating it is safe. Rejects with StoreUnavailable. */
  readonly recover: (intents: readonly UnsettledIntent[]) => Promise<void>;
  readonly #options: AccountingOptions;
  readonly #charges: DurableCharges;
  readonly #holdParts: OpenHoldParts;
  readonly #underWay = new Set<OpenHold>();
  #ending = false;

  constructor(options: AccountingOptions) {
    const { attempts, holds, metrics } = options;
    const charges = new DurableCharges({
      ...options,
      uncharged: (settlement) => attempts.record(unchargedSettlement(settlement)),
    });
    this.#options = options;
    this.#charges = charges;
    this.shipper = charges.shipper;
    this.recover = createRecovery({ ...options, charge: (settlement) => charges.chargeDelivered(settlement) });
    this.ledgerChanges = new LedgerChanges(options);
    this.#holdParts = {
      ...{ charges, attempts, holds, metrics },
      ended: (hold) => void this.#underWay.delete(hold),
    };
  }

  /** Opens the hold of an admitted request. `trace`: present if the request is traced. */
  open(terms: HoldTerms, trace?: RequestTrace): OpenHold {
    const { holds, chargeLog } = this.#options;
    const { generationId: holdId, organizationId, keyId, day, holdNanoUsd, totalTimeoutMs } = terms;
    const hold = new OpenHold(this.#holdParts, terms, chargeLog.open(terms), trace);
    this.#underWay.add(hold);
    if (this.#ending) hold.end();
    holds.keep({ holdId, organizationId, keyId, day, holdNanoUsd, totalTimeoutMs });
    return hold;
  }

  /** Releases the hold that an admission with an unknown result may have taken. */
  releaseUnknown(owner: HoldOwner): void {
    this.#options.holds.releaseUnknown(owner);
  }

  /** Why completions are refused: charges wait too long or are not durable. `undefined`: none. */
  refusesBecause(): string | undefined {
    return this.#ending ? 'the process ends' : (this.ledgerChanges.refusesBecause() ?? this.#charges.refusesBecause());
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
    await this.ledgerChanges.close();
    await this.#charges.close();
    await this.#options.holds.close();
  }
}
