import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestLogEntry, RequestLogStore } from '../stores/request-log.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Takes a line for every request and writes them in batches, beside the requests: none ever waits for it or fails with it. */
export interface RequestLog {
  /** Takes the line, or drops it when too many are waiting. Never throws. */
  add(entry: RequestLogEntry): void;
  /** Lines that are not written yet. */
  waiting(): number;
  /** Of this process, since its start. */
  dropped(): number;
  /** Writes what is waiting, and ends; what is not written by the deadline is lost. */
  close(withinMs: number): Promise<void>;
}

export interface RequestLogOptions {
  readonly store: RequestLogStore;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly bounds?: RequestLogBounds;
}

export interface RequestLogBounds {
  /** Lines in memory, those under way too. A line takes about 1 KB. */
  readonly capacity: number;
  readonly batch: number;
  /** Lines wait this long for company. */
  readonly everyMs: number;
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

const BOUNDS: RequestLogBounds = {
  capacity: 20_000,
  batch: 500,
  everyMs: 500,
  firstRetryMs: 500,
  longestRetryMs: 10_000,
};

export function createRequestLog({ store, metrics, log, bounds = BOUNDS }: RequestLogOptions): RequestLog {
  let fresh: RequestLogEntry[] = [];
  /** Sent, and unchanged until it is known to be written: a batch whose answer was lost must come again as it was. */
  let underWay: readonly RequestLogEntry[] = [];
  let writing: Promise<void> | undefined;
  let failures = 0;
  let dropped = 0;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const waiting = (): number => fresh.length + underWay.length;
  metrics.watchRequestLog(waiting);

  function add(entry: RequestLogEntry): void {
    if (closed || waiting() >= bounds.capacity) {
      drop(1);
      if (!isFull) log.error({ waiting: waiting() }, 'the request log cannot be written: its newest lines are dropped');
      isFull = true;
      return;
    }
    fresh.push(entry);
    if (fresh.length === bounds.batch && failures === 0) schedule(0);
    else if (timer === undefined && writing === undefined) schedule(bounds.everyMs);
  }

  function drop(lines: number): void {
    dropped += lines;
    metrics.requestLogDropped(lines);
  }

  function schedule(delayMs: number): void {
    if (writing !== undefined) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      void write();
    }, delayMs);
    timer.unref();
  }

  /** One batch at a time. */
  function write(): Promise<void> {
    writing ??= writeOne().finally(() => {
      writing = undefined;
      if (closed || waiting() === 0) return;
      if (failures > 0)
        schedule(Math.min(bounds.longestRetryMs, bounds.firstRetryMs * 2 ** Math.min(failures - 1, 20)));
      else schedule(fresh.length >= bounds.batch ? 0 : bounds.everyMs);
    });
    return writing;
  }

  async function writeOne(): Promise<void> {
    if (underWay.length === 0) {
      underWay = fresh.slice(0, bounds.batch);
      fresh = fresh.slice(bounds.batch);
    }
    try {
      const { refused } = await store.write(underWay);
      metrics.requestLogWritten(underWay.length - refused);
      if (refused > 0) drop(refused);
      if (failures > 0) log.info({ waiting: waiting(), dropped }, 'the request log is written again');
      underWay = [];
      failures = 0;
      if (waiting() < bounds.capacity / 2) isFull = false;
    } catch (error) {
      if (failures === 0) log.warn({ err: error }, 'the request log cannot be written now: its lines wait');
      failures++;
    }
  }

  async function flush(stop: AbortSignal): Promise<void> {
    while (waiting() > 0 && !stop.aborted) {
      await write();
      if (failures > 0) await sleep(bounds.firstRetryMs, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  async function close(withinMs: number): Promise<void> {
    closed = true;
    clearTimeout(timer);
    const deadline = new AbortController();
    const expiry = setTimeout(() => deadline.abort(), withinMs);
    await Promise.race([flush(deadline.signal), once(deadline.signal, 'abort')]);
    clearTimeout(expiry);
    if (waiting() === 0) return store.close();
    log.error({ lines: waiting() }, 'lines of the request log are lost: the time to end is over');
    drop(waiting());
  }

  return { add, waiting, dropped: () => dropped, close };
}
