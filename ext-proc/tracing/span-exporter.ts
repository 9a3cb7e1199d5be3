import { setTimeout as sleep } from 'node:timers/promises';
import type { TracingConfig } from '../../core/config/gateway-config.ts';
import type { Log } from '../../core/log/log.ts';
import { backOffMs } from '../../core/retry/back-off.ts';
import type { TraceMetrics } from '../telemetry/trace-metrics.ts';
import { encodeTraces, type Resource } from './otlp.ts';
import type { FinishedTrace } from './request-trace.ts';

/** Sends finished traces to the operator's collector, in the background: nobody waits for it, and what it cannot take is dropped. */
export interface SpanExporter {
  add(trace: FinishedTrace): void;
  /** Sends what waits, within this time. */
  close(withinMs: number): Promise<void>;
}

export interface SpanExporterOptions {
  /** Where to, as it is configured now. `undefined`: nowhere any more. */
  readonly target: () => TracingConfig | undefined;
  readonly resource: Resource;
  readonly metrics: TraceMetrics;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly bounds?: Partial<ExportBounds>;
}

export interface ExportBounds {
  /** Spans that wait; the newest are dropped beyond it. About a kilobyte each. */
  readonly capacity: number;
  /** Spans that are sent together, up to a trace more. */
  readonly batch: number;
  readonly everyMs: number;
  /** A collector that does not answer by then is asked again later. */
  readonly timeoutMs: number;
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

const BOUNDS: ExportBounds = {
  capacity: 8192,
  batch: 512,
  everyMs: 1000,
  timeoutMs: 10_000,
  firstRetryMs: 1000,
  longestRetryMs: 30_000,
};

export function createSpanExporter(options: SpanExporterOptions): SpanExporter {
  return new BatchingExporter(options);
}

/** What the protocol says may be sent again. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

class BatchingExporter implements SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #bounds: ExportBounds;
  #fresh: FinishedTrace[] = [];
  /** Sent again until the collector took or refused it. */
  #underWay: FinishedTrace[] = [];
  #spansWaiting = 0;
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #isRefused = false;
  #isClosed = false;
  readonly #closing = new AbortController();

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#bounds = { ...BOUNDS, ...options.bounds };
    options.metrics.watchSpans(() => this.#spansWaiting);
  }

  add(trace: FinishedTrace): void {
    const { length } = trace.spans;
    const isFull = this.#spansWaiting + length > this.#bounds.capacity;
    if (this.#isClosed || isFull) {
      this.#options.metrics.spansDropped(this.#isClosed ? 'unsent' : 'queue_full', length);
      return;
    }
    this.#fresh.push(trace);
    this.#spansWaiting += length;
    if (this.#spansWaiting >= this.#bounds.batch && this.#failures === 0) this.#schedule(0);
    else if (this.#timer === undefined) this.#schedule(this.#bounds.everyMs);
  }

  /** While a batch is under way nothing is scheduled: its end does that. */
  #schedule(delayMs: number): void {
    if (this.#sending !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#send();
    }, delayMs);
    this.#timer.unref();
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined;
      if (!this.#isClosed && this.#spansWaiting > 0) this.#schedule(this.#pauseMs());
    });
    return this.#sending;
  }

  #pauseMs(): number {
    const { batch, everyMs, firstRetryMs, longestRetryMs } = this.#bounds;
    if (this.#failures > 0) return backOffMs(this.#failures, { firstMs: firstRetryMs, longestMs: longestRetryMs });
    return this.#spansWaiting >= batch ? 0 : everyMs;
  }

  async #sendBatch(): Promise<void> {
    const { metrics, log } = this.#options;
    const target = this.#options.target();
    if (target === undefined) return this.#dropAll();
    if (this.#underWay.length === 0) this.#underWay = this.#takeBatch();
    const spans = spansOf(this.#underWay);
    const result = await this.#post(target, encodeTraces(this.#underWay, this.#options.resource));
    if (result.kind === 'later') {
      if (this.#failures === 0) log.warn({ err: result.reason }, 'traces cannot be exported now: they wait');
      this.#failures++;
      return;
    }
    this.#underWay = [];
    this.#spansWaiting -= spans;
    if (result.kind === 'taken') metrics.spansExported(spans);
    else {
      metrics.spansDropped('refused', spans);
      if (!this.#isRefused) log.warn({ status: result.status }, 'the collector refuses traces: they are dropped');
    }
    this.#isRefused = result.kind === 'refused';
    if (this.#failures > 0) log.info({ waiting: this.#spansWaiting }, 'the collector of traces answers again');
    this.#failures = 0;
  }

  #takeBatch(): FinishedTrace[] {
    let spans = 0;
    const over = this.#fresh.findIndex((trace) => {
      spans += trace.spans.length;
      return spans >= this.#bounds.batch;
    });
    return this.#fresh.splice(0, over === -1 ? this.#fresh.length : over + 1);
  }

  async #post({ otlpUrl, headers }: TracingConfig, body: Uint8Array): Promise<Posted> {
    try {
      const response = await fetch(otlpUrl, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/x-protobuf' },
        body,
        // The headers are secret, and meant for nobody else.
        redirect: 'error',
        signal: AbortSignal.any([AbortSignal.timeout(this.#bounds.timeoutMs), this.#closing.signal]),
      });
      await response.body?.cancel();
      const { status } = response;
      if (response.ok) return { kind: 'taken' };
      return TRY_AGAIN.has(status) ? { kind: 'later', reason: `status ${status}` } : { kind: 'refused', status };
    } catch (reason) {
      return { kind: 'later', reason };
    }
  }

  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const expiry = setTimeout(() => this.#closing.abort(), withinMs);
    while (this.#spansWaiting > 0 && !this.#closing.signal.aborted) {
      await this.#send();
      if (this.#failures > 0) await this.#pauseUnlessClosing();
    }
    clearTimeout(expiry);
    this.#dropAll();
  }

  #pauseUnlessClosing(): Promise<void> {
    return sleep(this.#bounds.firstRetryMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  #dropAll(): void {
    if (this.#spansWaiting > 0) this.#options.metrics.spansDropped('unsent', this.#spansWaiting);
    this.#fresh = [];
    this.#underWay = [];
    this.#spansWaiting = 0;
  }
}

type Posted =
  | { readonly kind: 'taken' }
  | { readonly kind: 'later'; readonly reason: unknown }
  | { readonly kind: 'refused'; readonly status: number };

function spansOf(traces: readonly FinishedTrace[]): number {
  return traces.reduce((sum, { spans }) => sum + spans.length, 0);
}
