import type { Clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import { backOffMs } from '#core/retry/back-off.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { AnySettlement, ChargeRefused, ClaimedSettlement } from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import type { ChargeLog } from './charge-log/charge-log.ts';

/** Outcome of a charge that was sent to the ledger. `unavailable`: it has to be sent again. */
export type Sent =
  | { readonly kind: 'charged'; readonly ledgerEpoch: string }
  /** Another request has the idempotency key: nothing was charged. */
  | { readonly kind: 'taken_over' }
  /** The ledger refuses it: it is a dead letter. */
  | { readonly kind: 'refused'; readonly error: ChargeRefused }
  | { readonly kind: 'unavailable'; readonly error: unknown };

/** Outcome of a charge. `gone`: the disk lost it, and it is never made. */
export type Shipped = Sent | { readonly kind: 'gone' };

export interface ShipperOptions {
  readonly chargeLog: Pick<ChargeLog, 'waiting' | 'read' | 'committed'>;
  /**
   * Sends a charge. Charges of one turn of the event loop share a statement. `delivered`: no
   * response waits for the charge. Never rejects.
   */
  readonly send: (settlement: AnySettlement, delivered: boolean) => Promise<Sent>;
  /** Called for a charge that the disk lost: it is never made. */
  readonly forget: (generationId: string) => Promise<void>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
  /** Starts a timer, and returns a function that stops it. Replaced in tests. */
  readonly after?: (ms: number, due: () => void) => () => void;
}

/** Charges that were not sent at once share a statement with those that come within this time. */
const SHIP_AFTER_MS = 50;
/** This many charges are sent without that delay. */
const SHIP_AT = 200;
/** Bounds of one batch: all of it is in memory, with stored responses. */
const BATCH = { charges: 500, bytes: 16 * 1024 * 1024 };
/** Completions are refused while a charge has waited for longer than this. */
export const LONG_WAIT_MS = 5_000;
/** Most time that a read waits for the charges of its organization. */
const READ_WAITS_MS = 1_500;
const BACK_OFF = { firstMs: 250, longestMs: 1_000 };
/** Most charges in memory, about 30 MB. Further ones are read back from the log. */
const MOST_KEPT = 20_000;

const PROCESS_ENDS: Shipped = { kind: 'unavailable', error: new StoreUnavailable('the process ends') };

interface Waiting {
  readonly generationId: string;
  readonly organizationId: string;
  readonly sinceMs: number;
  readonly bytes: number;
  /** Absent: the charge is read back from the log. */
  settlement: AnySettlement | undefined;
  /** False: the disk failed, and the charge is in memory alone. */
  readonly isLogged: boolean;
  /** False while its response waits for the commit. */
  delivered: boolean;
  ends: ((end: Shipped) => void)[];
}

/** Sends the charges of this process that wait in its log to PostgreSQL, in order of arrival. */
export class Shipper {
  readonly #options: ShipperOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** Charges that are on their way to PostgreSQL. */
  readonly #sent = new Set<Waiting>();
  /** Attempts that failed in a row. */
  #failures = 0;
  #shipping: Promise<void> | undefined;
  readonly #alone = new Set<Promise<void>>();
  #stopTimer: (() => void) | undefined;
  #waitsNoMore = false;
  #closed = false;

  /** Begins with the charges that a former process left in the log. `ship` sends them. */
  constructor(options: ShipperOptions) {
    this.#options = options;
    const sinceMs = options.clock.monotonicMs();
    for (const { generationId, organizationId, bytes } of options.chargeLog.waiting())
      this.#waiting.set(generationId, {
        ...{ generationId, organizationId, bytes, sinceMs, settlement: undefined, isLogged: true },
        ...{ delivered: true, ends: [] },
      });
  }

  /** Adds a charge that is in the log, or in memory alone because the disk failed. */
  add(settlement: AnySettlement, isLogged: boolean): void {
    const { generationId, organizationId } = settlement;
    this.#waiting.set(generationId, {
      ...{ generationId, organizationId, isLogged, delivered: true, ends: [] },
      sinceMs: this.#options.clock.monotonicMs(),
      bytes: responseBytes(settlement),
      settlement: isLogged && this.#waiting.size >= MOST_KEPT ? undefined : settlement,
    });
    this.#schedule();
  }

  /** Sends at once a charge whose response waits. Resolves with the outcome of this attempt. */
  shipOne(generationId: string): Promise<Shipped> {
    const one = this.#waiting.get(generationId);
    if (one === undefined) throw new Error(`no charge of ${generationId} waits`);
    if (this.#waitsNoMore) return Promise.resolve(PROCESS_ENDS);
    one.delivered = false;
    const ended = this.#endOf(one).finally(() => {
      one.delivered = true;
    });
    // Stored responses are large, so they are sent alone and delay no others.
    if (one.settlement && isClaimed(one.settlement)) this.#sendAlone(one);
    else this.#shipSoon();
    return ended;
  }

  /** Sends everything that waits. Rejects if that is impossible now. */
  async ship(): Promise<void> {
    await this.#shipping?.catch(() => undefined);
    this.#shipping ??= this.#shipAll().finally(() => {
      this.#shipping = undefined;
      this.#schedule();
    });
    await this.#shipping;
    await Promise.all(this.#alone);
  }

  /** Sends an organization's waiting charges. Resolves when they have ended or the time is over. */
  async shipOf(organizationId: string, withinMs = READ_WAITS_MS): Promise<void> {
    const own = [...this.#waiting.values()].filter((one) => one.organizationId === organizationId);
    if (own.length === 0) return;
    const over = Promise.withResolvers<void>();
    const stop = this.#after(withinMs, over.resolve);
    this.#shipSoon();
    await Promise.race([Promise.all(own.map((one) => this.#endOf(one))), over.promise]);
    stop();
  }

  /** Replaces a waiting charge. False: it no longer waits. */
  replace(settlement: ClaimedSettlement): boolean {
    const one = this.#waiting.get(settlement.generationId);
    if (one) one.settlement = settlement;
    return one !== undefined;
  }

  drop(generationId: string): void {
    const one = this.#waiting.get(generationId);
    if (one && this.#waiting.delete(generationId)) this.#sent.delete(one);
  }

  /** Ids of the charges that have waited for at least this long, oldest first. */
  waitingFor(leastMs: number): readonly string[] {
    const latestMs = this.#options.clock.monotonicMs() - leastMs;
    const ids: string[] = [];
    for (const { generationId, sinceMs } of this.#waiting.values()) {
      if (sinceMs > latestMs) break;
      ids.push(generationId);
    }
    return ids;
  }

  /** Time that the oldest charge has waited. 0: none waits. */
  oldestMs(): number {
    const [oldest] = this.#waiting.values();
    return oldest === undefined ? 0 : this.#options.clock.monotonicMs() - oldest.sinceMs;
  }

  /** True if the last attempt failed. */
  isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Lets no response wait for a commit any more. The charges stay in the log. */
  waitNoMore(): void {
    this.#waitsNoMore = true;
    for (const one of this.#waiting.values()) endWith(one, PROCESS_ENDS);
  }

  /** Sends the waiting charges once more. Never rejects. */
  async close(): Promise<void> {
    if (this.#waiting.size > 0) await this.ship().catch(() => undefined);
    this.#closed = true;
    this.#stopTimer?.();
  }

  #after(ms: number, due: () => void): () => void {
    const { after = startTimer } = this.#options;
    return after(ms, due);
  }

  #schedule(): void {
    // Charges on their way do not count: otherwise this would ship nothing, again and again.
    const unsent = this.#waiting.size - this.#sent.size;
    if (this.#closed || this.#shipping || unsent <= 0) return;
    const isMany = this.#failures === 0 && unsent >= SHIP_AT;
    const delayMs = this.#failures > 0 ? backOffMs(this.#failures, BACK_OFF) : SHIP_AFTER_MS;
    if (isMany) this.#shipSoon();
    else this.#stopTimer ??= this.#after(delayMs, () => this.#shipSoon());
  }

  #shipSoon(): void {
    // `#send` logs the failure, and `#schedule` retries.
    this.ship().catch(() => undefined);
  }

  async #shipAll(): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    let unsent = [...this.#waiting.values()].filter((one) => !this.#sent.has(one));
    while (unsent.length > 0) {
      const batch = firstOf(unsent);
      unsent = unsent.slice(batch.length);
      await this.#send(batch.filter((one) => !this.#sent.has(one) && this.#waiting.get(one.generationId) === one));
    }
  }

  #sendAlone(one: Waiting): void {
    if (this.#sent.has(one)) return;
    const sending = this.#send([one]).catch(() => undefined);
    this.#alone.add(sending);
    void sending.finally(() => this.#alone.delete(sending));
  }

  /** Sends a batch. Rejects if one of its charges has to be sent again. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const { chargeLog, log } = this.#options;
    const sent = await Promise.all(batch.map(async (one) => [one.generationId, await this.#sendOne(one)] as const));
    const over = sent.filter(([, { kind }]) => kind !== 'unavailable');
    const epochOf = (end: Shipped) => (end.kind === 'charged' ? end.ledgerEpoch : undefined);
    for (const [epoch, group] of Map.groupBy(over, ([, end]) => epochOf(end))) {
      const ids = group.map(([generationId]) => generationId);
      chargeLog.committed(ids, epoch);
    }
    const first = sent.map(([, end]) => end).find((end) => end.kind === 'unavailable');
    if (first === undefined) {
      this.#failures = 0;
      return;
    }
    this.#failures += 1;
    // No response waits until the retry.
    for (const one of this.#waiting.values()) if (!this.#sent.has(one)) endWith(one, first);
    const fields = { err: first.error, charges: this.#waiting.size };
    if (this.#failures === 1) log.error(fields, 'PostgreSQL did not take charges: they wait in the log');
    else log.warn(fields, 'charges still wait for PostgreSQL');
    this.#schedule();
    throw first.error;
  }

  async #sendOne(one: Waiting): Promise<Shipped> {
    this.#sent.add(one);
    const end = await this.#tryToSend(one);
    this.#sent.delete(one);
    if (end.kind !== 'unavailable') this.#waiting.delete(one.generationId);
    else if (one.isLogged && one.bytes > 0) one.settlement = undefined;
    endWith(one, end);
    return end;
  }

  async #tryToSend(one: Waiting): Promise<Shipped> {
    const { chargeLog, send, forget } = this.#options;
    if (one.settlement) return send(one.settlement, one.delivered);
    try {
      const settlement = await chargeLog.read(one.generationId);
      if (settlement) return await send(settlement, one.delivered);
    } catch (error) {
      return { kind: 'unavailable', error };
    }
    await forget(one.generationId);
    return { kind: 'gone' };
  }

  #endOf(one: Waiting): Promise<Shipped> {
    return new Promise((resolve) => one.ends.push(resolve));
  }
}

function endWith(one: Waiting, end: Shipped): void {
  for (const ended of one.ends.splice(0)) ended(end);
}

function responseBytes(settlement: AnySettlement): number {
  return isClaimed(settlement) ? (settlement.claim.response?.length ?? 0) : 0;
}

/** The first charges, as many as a batch may have, but at least one. */
function firstOf(waiting: readonly Waiting[]): readonly Waiting[] {
  let bytes = 0;
  const over = waiting.findIndex((one) => {
    bytes += one.bytes;
    return bytes > BATCH.bytes;
  });
  return waiting.slice(0, Math.min(BATCH.charges, over === -1 ? waiting.length : Math.max(1, over)));
}

function startTimer(ms: number, due: () => void): () => void {
  const timer = setTimeout(due, ms).unref();
  return () => clearTimeout(timer);
}
