import { type BufferBounds, BufferedWriter } from '#core/batching/buffered-writer.ts';
import { MINUTE_MS } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import type { WriteOmitted } from '#database/request-log/omitted-requests.ts';
import type { OmittedRequests, RequestLogRow } from '#database/request-log/request-log-row.ts';

export interface OmittedOptions {
  readonly write: WriteOmitted;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Called for requests that could not even be counted. */
  readonly onDropped: (requests: number) => void;
  readonly everyMs?: number;
}

/** Most kinds of requests that wait to be written. A kind takes some 500 bytes. */
const MOST_KINDS = 10_000;
/** A kind is at most once in the batch in flight and once behind it. */
const BOUNDS: BufferBounds = {
  capacity: 2 * MOST_KINDS,
  batch: 500,
  everyMs: 1_000,
  firstRetryMs: 1_000,
  longestRetryMs: 10_000,
};

interface Kind {
  readonly id: string;
  counted: OmittedRequests;
  /** True while the kind waits behind the batch in flight, so that it is not added twice. */
  isWaiting: boolean;
  /** Requests that the store has counted. */
  written: number;
}

/**
 * Counts refused requests that have no row in the request log, by kind and minute, and writes the
 * counts in batches. Each count is a sum since the minute began, so writing one again changes
 * nothing.
 */
export class OmittedCounts {
  readonly #options: OmittedOptions;
  readonly #kinds = new Map<string, Kind>();
  readonly #writer: BufferedWriter<Kind>;

  constructor(options: OmittedOptions) {
    this.#options = options;
    const { everyMs = BOUNDS.everyMs } = options;
    this.#writer = new BufferedWriter<Kind>({
      write: (kinds) => this.#write(kinds),
      bounds: { ...BOUNDS, everyMs, firstRetryMs: everyMs },
      // Kinds, not requests: those are summed when it closes.
      onDropped: () => undefined,
      log: options.log,
      messages: {
        failing: 'counts of refused requests cannot be written now: they wait',
        recovered: 'counts of refused requests are written again',
        // Never logged: MOST_KINDS keeps the buffer from being full.
        full: 'counts of refused requests cannot be written',
        lost: 'counts of refused requests are lost: the time to stop is over',
      },
    });
  }

  add(row: RequestLogRow, nowMs: number): void {
    const { organizationId, keyId, status, arrivedAtMs, address } = row;
    const minute = Math.floor(nowMs / MINUTE_MS);
    const model = row.modelKnown ? (row.model ?? '') : '';
    const code = row.code ?? '';
    const id = `${keyId} ${minute} ${status} ${code} ${model}`;
    const known = this.#kinds.get(id);
    if (known === undefined && this.#kinds.size >= MOST_KINDS) {
      this.#options.onDropped(1);
      return;
    }
    const requests = (known?.counted.requests ?? 0) + 1;
    const counted = { organizationId, keyId, minute, model, code, status, requests, lastAtMs: arrivedAtMs, address };
    const kind = known ?? { id, counted, isWaiting: false, written: 0 };
    kind.counted = counted;
    if (known === undefined) this.#kinds.set(id, kind);
    if (kind.isWaiting) return;
    kind.isWaiting = true;
    this.#writer.add(kind);
  }

  async #write(kinds: readonly Kind[]): Promise<void> {
    for (const kind of kinds) kind.isWaiting = false;
    const counts = kinds.map(({ counted }) => counted);
    await this.#options.write(counts);
    kinds.forEach((kind, index) => {
      kind.written = counts[index]?.requests ?? kind.written;
    });
    this.#forget(Math.floor(Date.now() / MINUTE_MS));
  }

  /** Drops counts that are written and can no longer grow. */
  #forget(minute: number): void {
    for (const { id, counted, written } of this.#kinds.values()) {
      if (counted.minute < minute - 1 && counted.requests === written) this.#kinds.delete(id);
    }
  }

  /** Writes the waiting counts, and ends. Those not written within this time, in ms, are lost. */
  async close(withinMs: number): Promise<void> {
    await this.#writer.close(withinMs);
    let lost = 0;
    for (const { counted, written } of this.#kinds.values()) lost += counted.requests - written;
    if (lost > 0) this.#options.onDropped(lost);
  }
}
