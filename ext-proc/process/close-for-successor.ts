import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#core/log/log.ts';
import type { OpenAccounting } from './open-accounting.ts';

/** Parts of the process that a successor waits for. */
export interface ClosingForSuccessor {
  readonly money: Pick<OpenAccounting, 'openHolds' | 'waiting'> & {
    readonly accounting: Pick<OpenAccounting['accounting'], 'cut'> & {
      readonly shipper: Pick<OpenAccounting['accounting']['shipper'], 'ship'>;
    };
  };
  readonly log: Log;
  /** Refuses new requests. */
  refuse(): void;
}

const LOOK_EVERY_MS = 100;
const RETRY_MS = 1_000;
/** 30 s for requests to be charged after they were cut. */
const MOST_LOOKS = 300;

/**
 * Ends all requests after another process has taken over the limits of this database. That process
 * does not know the holds of this one, so every request is cut and charged now. The log is shipped,
 * because a process that is restarted here is refused and would not ship it.
 * Resolves when PostgreSQL has all charges.
 */
export async function closeForSuccessor({ money, log, refuse }: ClosingForSuccessor): Promise<void> {
  refuse();
  money.accounting.cut();
  for (let looks = 0; money.openHolds() > 0 && looks < MOST_LOOKS; looks++) await sleep(LOOK_EVERY_MS);
  while (money.waiting() > 0) {
    try {
      await money.accounting.shipper.ship();
    } catch (error) {
      log.warn(
        { err: error },
        'charges could not be made yet, and nobody would make them after the end of this process',
      );
      await sleep(RETRY_MS);
    }
  }
}
