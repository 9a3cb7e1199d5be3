import type { Log } from '#core/log/log.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import {
  type AnySettlement,
  ChargeRefused,
  dueNanoUsd,
  type Ledger,
  type Settlement,
} from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export type HoldOwner = Pick<Settlement, 'generationId' | 'organizationId' | 'keyId'>;

export interface ChargeCommitterOptions {
  readonly ledger: Ledger;
  /** Releases the hold of a settlement. Without a snapshot nothing was charged. Never rejects. */
  readonly releaseHold: (of: HoldOwner, tokensUsed: number, snapshot?: AccountSnapshot) => Promise<void>;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Outcome of a charge that was sent to the ledger. `unavailable`: it has to be sent again. */
export type Sent =
  | { readonly kind: 'charged'; readonly ledgerEpoch: string }
  /** Another request has the idempotency key: nothing was charged. */
  | { readonly kind: 'taken_over' }
  /** The ledger refuses it: it is a dead letter. */
  | { readonly kind: 'refused'; readonly error: ChargeRefused }
  | { readonly kind: 'unavailable'; readonly error: unknown };

/** Commits charges to the ledger. Charges of one turn of the event loop share a transaction. */
export class ChargeCommitter {
  readonly #options: ChargeCommitterOptions;

  constructor(options: ChargeCommitterOptions) {
    this.#options = options;
  }

  /**
   * Commits a charge, and then releases its hold. `delivered`: its response was delivered, or may
   * have been. Never rejects.
   */
  async commit(settlement: AnySettlement, delivered: boolean): Promise<Sent> {
    const { ledger, metrics } = this.#options;
    try {
      const snapshot = await (isClaimed(settlement) ? ledger.chargeClaimed(settlement) : ledger.charge(settlement));
      if (snapshot === undefined) return { kind: 'taken_over' };
      this.#release(settlement, snapshot);
      return { kind: 'charged', ledgerEpoch: snapshot.ledgerEpoch };
    } catch (error) {
      metrics.settlementFailed();
      // A charge that the ledger refuses must not block the others.
      if (error instanceof ChargeRefused && (await this.#isDeadLettered(settlement, error, delivered)))
        return { kind: 'refused', error };
      return { kind: 'unavailable', error };
    }
  }

  /** Repeats a charge that the ledger may have lost. False: it was refused. Rejects: retry. */
  async repeat(settlement: Settlement): Promise<boolean> {
    try {
      this.#release(settlement, await this.#options.ledger.charge(settlement));
      return true;
    } catch (error) {
      if (!(error instanceof ChargeRefused)) throw error;
      // Not dead-lettered: a replaced database, or one from before the organization existed, would
      // get thousands of dead letters.
      const { generationId, organizationId } = settlement;
      const fields = { err: error, generation_id: generationId, organization_id: organizationId };
      this.#options.log.error(fields, 'not charged again');
      return false;
    }
  }

  /**
   * Records a loss: the provider bills a response whose idempotency key another request has taken
   * over. Rejects with StoreUnavailable.
   */
  async lose(settlement: Settlement): Promise<void> {
    const { generationId, organizationId, model, provider } = settlement;
    const loss = { reason: 'taken_over', amountNanoUsd: dueNanoUsd(settlement) } as const;
    await this.#options.ledger.lose({ generationId, organizationId, model, provider, ...loss });
  }

  /** Releases the hold. No charge waits for that: Accounting awaits it before the process ends. */
  #release(settlement: Settlement, snapshot: AccountSnapshot): void {
    void this.#options.releaseHold(settlement, tokensOf(settlement), snapshot);
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
}

export function tokensOf({ usage }: Settlement): number {
  return usage.promptTokens + usage.completionTokens;
}
