import type { Log } from '#core/log/log.ts';
import {
  type AnySettlement,
  ChargeRefused,
  dueNanoUsd,
  type Ledger,
  type Settlement,
} from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { HoldKeeper } from './hold-keeper.ts';

export interface ChargeCommitterOptions {
  readonly ledger: Ledger;
  readonly holds: Pick<HoldKeeper, 'release'>;
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
    const { ledger, holds, metrics } = this.#options;
    try {
      const snapshot = await (isClaimed(settlement) ? ledger.chargeClaimed(settlement) : ledger.charge(settlement));
      if (snapshot === undefined) return { kind: 'taken_over' };
      // No charge waits for that: it is awaited before the process ends.
      void holds.release(settlement, { tokensUsed: tokensOf(settlement), snapshot });
      return { kind: 'charged', ledgerEpoch: snapshot.ledgerEpoch };
    } catch (error) {
      metrics.settlementFailed();
      // A charge that the ledger refuses must not block the others.
      if (error instanceof ChargeRefused && (await this.#isDeadLettered(settlement, error, delivered)))
        return { kind: 'refused', error };
      return { kind: 'unavailable', error };
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
