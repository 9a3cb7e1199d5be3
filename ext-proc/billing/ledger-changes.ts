import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#core/log/log.ts';
import type { Ledger, Settlement } from '#database/ledger/ledger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RecentCharges } from './journal/recent-charges.ts';

/**
 * Detects another ledger epoch, which means that the database may have gone back in time, and
 * repeats recent charges that it lacks. Nothing is admitted meanwhile, because the balances lack
 * them too.
 */
export interface LedgerChanges {
  /** Notes the epoch of a read. */
  sees(epoch: string): void;
  /**
   * Resolves when the ledger has every recent charge of this process. Rejects with StoreUnavailable
   * if that is impossible now.
   */
  catchUp(): Promise<void>;
  /** `undefined`: no reason. */
  refusesBecause(): string | undefined;
  close(): Promise<void>;
}

export interface LedgerChangesOptions {
  readonly ledger: Pick<Ledger, 'currentEpoch' | 'chargedAmong'>;
  readonly recent: Pick<RecentCharges, 'sendAgain'>;
  /** Repeats a charge. False: the ledger refuses it. Rejects if it has to be tried again. */
  readonly chargeAgain: (settlement: Settlement) => Promise<boolean>;
  /** Other processes notice the same within this time. 0: there are none. */
  readonly othersTakeMs: number;
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * The epoch is read this often. A process without requests has to notice a change too, because
 * others wait for its charges.
 */
const LOOK_EVERY_MS = 1_000;
const RETRY_MS = 500;

export function createLedgerChanges(options: LedgerChangesOptions): LedgerChanges {
  const { ledger, recent, chargeAgain, othersTakeMs, metrics, log } = options;
  let known: string | undefined;
  let following: Promise<void> | undefined;
  const closing = new AbortController();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();

  function look(): void {
    // An unavailable database is reported by the parts that need it.
    if (known !== undefined) ledger.currentEpoch().then(sees, () => undefined);
  }

  function sees(epoch: string): void {
    if (known === undefined || epoch === known || following !== undefined || closing.signal.aborted) return;
    following = follow().finally(() => {
      following = undefined;
    });
  }

  /**
   * Catches up with the current epoch. The ledger is asked for it, because a noted epoch may be
   * older than the known one.
   */
  async function follow(): Promise<void> {
    for (;;) {
      try {
        const before = known;
        await catchUp();
        if (known !== before) await pause(othersTakeMs);
        return;
      } catch (error) {
        if (closing.signal.aborted) return;
        log.error({ err: error }, 'the ledger changed, and charges cannot be sent again yet');
        await pause(RETRY_MS);
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: closing.signal }).catch(() => undefined);
  }

  async function catchUp(): Promise<void> {
    const epoch = await ledger.currentEpoch();
    let made = 0;
    const kept = await recent.sendAgain(epoch, async (settlements) => {
      const charged = await ledger.chargedAmong(settlements.map(({ generationId }) => generationId));
      const lacking = settlements.filter(({ generationId }) => !charged.has(generationId));
      const results = await Promise.allSettled(lacking.map(chargeAgain));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      made += results.filter((result) => result.status === 'fulfilled' && result.value).length;
    });
    known = epoch;
    if (kept === 0) return;
    metrics.chargedAgain(made);
    log.warn(
      { kept, made },
      'the ledger is another than before: the charges of the last minutes that it lacks are made again',
    );
  }

  return {
    sees,
    catchUp,
    refusesBecause: () =>
      following === undefined ? undefined : 'the ledger changed: charges that it may lack are made again',
    async close() {
      closing.abort();
      clearInterval(timer);
      await following;
    },
  };
}
