import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { ChargeRefused, type Ledger, type Settlement } from '#database/ledger/ledger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { allOnceSettled } from './all-once-settled.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import { tokensOf } from './settlement-of.ts';

export interface LedgerChangesOptions {
  readonly ledger: Pick<Ledger, 'charge' | 'currentEpoch' | 'chargedAmong' | 'renewEpochAfter'>;
  readonly chargeLog: Pick<ChargeLog, 'sendAgain' | 'lastCommits'>;
  readonly holds: Pick<HoldKeeper, 'release'>;
  /** Other processes notice a new ledger epoch within this time. 0: there are no others. */
  readonly othersTakeMs: number;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Interval of reading the epoch, also while idle: others wait for charges of this process. */
const LOOK_EVERY_MS = 1_000;
const RETRY_MS = 500;

/**
 * Detects a new ledger epoch, which means that the database may have gone back in time, and repeats
 * recent charges that it lacks. Nothing is admitted meanwhile, because the balances do not include
 * these charges.
 */
export class LedgerChanges {
  readonly #options: LedgerChangesOptions;
  readonly #closing = new AbortController();
  readonly #stopLooking: () => void;
  #known: string | undefined;
  #following: Promise<void> | undefined;

  constructor(options: LedgerChangesOptions) {
    this.#options = options;
    this.#stopLooking = keepDoing(
      LOOK_EVERY_MS,
      async () => this.sees(await options.ledger.currentEpoch()),
      // An unavailable database is reported by the parts that need it.
      () => undefined,
      'after a pause',
    );
  }

  sees(epoch: string): void {
    if (this.#known === undefined || epoch === this.#known) return;
    if (this.#following !== undefined || this.#closing.signal.aborted) return;
    this.#following = this.#follow().finally(() => {
      this.#following = undefined;
    });
  }

  /** Resolves once the ledger has this process's recent charges. Rejects with StoreUnavailable. */
  async catchUp(): Promise<void> {
    const { ledger, chargeLog, metrics, log } = this.#options;
    if (this.#known === undefined) await this.#renewIfBehind(await ledger.currentEpoch());
    const epoch = await ledger.currentEpoch();
    let made = 0;
    const kept = await chargeLog.sendAgain(epoch, async (settlements) => {
      made += await this.#chargeLacking(settlements);
    });
    this.#known = epoch;
    if (kept === 0) return;
    metrics.chargedAgain(made);
    log.warn(
      { kept, made },
      'the ledger is another than before: the charges of the last minutes that it lacks are made again',
    );
  }

  /** `undefined`: no reason. */
  refusesBecause(): string | undefined {
    return this.#following && 'the ledger changed: charges that it may lack are made again';
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopLooking();
    await this.#following;
  }

  /** Catches up with the epoch in the ledger: a noted epoch may be older than the known one. */
  async #follow(): Promise<void> {
    for (;;) {
      try {
        const before = this.#known;
        await this.catchUp();
        if (this.#known !== before) await this.#pause(this.#options.othersTakeMs);
        return;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#options.log.error({ err: error }, 'the ledger changed, and charges cannot be sent again yet');
        await this.#pause(RETRY_MS);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /**
   * Renews the epoch if the ledger lacks a charge that is among the log's newest of this epoch: a
   * copy of the server's files that began without archive recovery, such as a snapshot of its disk,
   * continues on the same timeline.
   */
  async #renewIfBehind(epoch: string): Promise<void> {
    const { ledger, chargeLog } = this.#options;
    const last = chargeLog.lastCommits.flatMap((commit) => (commit.epoch === epoch ? [commit.generationId] : []));
    const charged = await ledger.chargedAmong(last);
    if (!last.every((generationId) => charged.has(generationId))) await ledger.renewEpochAfter(epoch);
  }

  /** Repeats the charges among these that the ledger lacks. Returns how many it accepted. */
  async #chargeLacking(settlements: readonly Settlement[]): Promise<number> {
    const { ledger } = this.#options;
    const charged = await ledger.chargedAmong(settlements.map(({ generationId }) => generationId));
    const lacking = settlements.filter(({ generationId }) => !charged.has(generationId));
    const accepted = await allOnceSettled(lacking.map((settlement) => this.#chargeAgain(settlement)));
    return accepted.filter(Boolean).length;
  }

  /** False: the ledger refused it. Rejects if it has to be retried. */
  async #chargeAgain(settlement: Settlement): Promise<boolean> {
    const { ledger, holds, log } = this.#options;
    try {
      const snapshot = await ledger.charge(settlement);
      void holds.release(settlement, { tokensUsed: tokensOf(settlement), snapshot });
      return true;
    } catch (error) {
      if (!(error instanceof ChargeRefused)) throw error;
      // Not dead-lettered: a replaced database, or one from before the organization existed, would
      // get thousands of dead letters.
      const { generationId, organizationId } = settlement;
      const fields = { err: error, generation_id: generationId, organization_id: organizationId };
      log.error(fields, 'not charged again');
      return false;
    }
  }
}
