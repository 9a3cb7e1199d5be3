import { type ResourceLimits, Worker } from 'node:worker_threads';

/** Time-out of one job. The largest body takes some seconds of CPU. */
const TIMEOUT_MS = 20_000;

export interface ThreadOptions {
  /** True keeps an idle thread, because it takes long to start. */
  readonly isKept?: boolean;
  readonly resourceLimits?: ResourceLimits;
  readonly onError?: (error: unknown) => void;
}

/**
 * A job has at least this time, of which a thread that starts needs a part. If each late job ended
 * the thread that has just begun, none would be done while they come fast.
 */
const LEAST_MS = 2_000;

/** In place of an organization: jobs that come before those of all organizations. */
export const FIRST = '';

/** Time after which an idle thread ends and frees its memory. */
const IDLE_MS = 5_000;

/** A job for the thread, and the buffers that are transferred with it. */
export interface ThreadJob<Job> {
  readonly job: Job;
  readonly transfer: ArrayBuffer[];
}

interface Waiting<Job, Result> {
  /** Called when the job's turn has come, so that nothing is copied for a waiting job. */
  readonly prepare: () => ThreadJob<Job>;
  /** True if the result is no longer needed. */
  readonly isGone: () => boolean;
  readonly resolve: (result: Result | undefined) => void;
}

/** Work for a thread beside the event loop: one job at a time, and organizations take turns. */
export class ThreadInTurns<Job, Result> {
  readonly #script: URL;
  readonly #options: ThreadOptions;
  /** Waiting jobs by organization, in the order of turns. */
  readonly #waiting = new Map<string, Waiting<Job, Result>[]>();
  #running: Waiting<Job, Result> | undefined;
  #begunAtMs = 0;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #tooSlow: NodeJS.Timeout | undefined;

  constructor(script: URL, options: ThreadOptions = {}) {
    this.#script = script;
    this.#options = options;
  }

  /**
   * Runs a job in the thread. `undefined`: the thread took too long, broke or is closed, or the
   * result was no longer needed when the job's turn came.
   */
  run(organizationId: string, prepare: () => ThreadJob<Job>, isGone = () => false): Promise<Result | undefined> {
    return new Promise((resolve) => {
      const waiting = { prepare, isGone, resolve };
      const others = this.#waiting.get(organizationId);
      if (others === undefined) this.#waiting.set(organizationId, [waiting]);
      else others.push(waiting);
      this.#next();
    });
  }

  /**
   * Ends the job of this organization with this `isGone`: at once if it waits, because the jobs
   * before it may go on coming; soon if it is running, so that it delays no others.
   */
  skip(organizationId: string, isGone: () => boolean): void {
    if (this.#running?.isGone === isGone) this.#endRunningSoon();
    else this.#dropWaiting(organizationId, isGone);
  }

  #endRunningSoon(): void {
    const worker = this.#worker;
    const leftMs = this.#begunAtMs + LEAST_MS - performance.now();
    clearTimeout(this.#tooSlow);
    if (leftMs <= 0) this.#failed(worker);
    else this.#tooSlow = setTimeout(() => this.#failed(worker), leftMs);
  }

  #dropWaiting(organizationId: string, isGone: () => boolean): void {
    const jobs = this.#waiting.get(organizationId) ?? [];
    const place = jobs.findIndex((job) => job.isGone === isGone);
    if (place < 0) return;
    for (const { resolve } of jobs.splice(place, 1)) resolve(undefined);
    if (jobs.length === 0) this.#waiting.delete(organizationId);
  }

  close(): void {
    for (const jobs of this.#waiting.values()) for (const { resolve } of jobs) resolve(undefined);
    this.#waiting.clear();
    this.#failed(this.#worker);
    clearTimeout(this.#idle);
  }

  /** A loop: as a recursion, thousands of jobs without a result would exceed the stack. */
  #next(): void {
    if (this.#running !== undefined) return;
    clearTimeout(this.#idle);
    for (let next = this.#takeTurn(); next !== undefined; next = this.#takeTurn()) {
      if (!next.isGone() && this.#begin(next)) return;
      next.resolve(undefined);
    }
    if (!this.#options.isKept) this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #takeTurn(): Waiting<Job, Result> | undefined {
    const [organizationId = FIRST] = this.#waiting.has(FIRST) ? [] : this.#waiting.keys();
    const jobs = this.#waiting.get(organizationId);
    if (jobs === undefined) return undefined;
    this.#waiting.delete(organizationId);
    const next = jobs.shift();
    if (jobs.length > 0) this.#waiting.set(organizationId, jobs);
    return next;
  }

  /** False: there is no thread for the job. */
  #begin(next: Waiting<Job, Result>): boolean {
    const worker = this.#worker ?? this.#start();
    if (worker === undefined) return false;
    this.#worker = worker;
    this.#running = next;
    this.#begunAtMs = performance.now();
    this.#tooSlow = setTimeout(() => this.#failed(worker), TIMEOUT_MS);
    const { job, transfer } = next.prepare();
    worker.postMessage(job, transfer);
    return true;
  }

  /** `undefined`: it could not be started. The system may have too many threads. */
  #start(): Worker | undefined {
    const { resourceLimits, onError } = this.#options;
    try {
      const worker = new Worker(this.#script, resourceLimits && { resourceLimits });
      worker.unref();
      // Messages of a former thread are ignored.
      worker.on('message', (result: Result) => worker === this.#worker && this.#done(result));
      worker.on('error', (error) => {
        onError?.(error);
        this.#failed(worker);
      });
      return worker;
    } catch (error) {
      onError?.(error);
      return undefined;
    }
  }

  #done(result: Result | undefined): void {
    clearTimeout(this.#tooSlow);
    const ended = this.#running;
    this.#running = undefined;
    ended?.resolve(result);
    this.#next();
  }

  /** Ends a thread that takes too long or broke. The next job gets a new one. */
  #failed(worker: Worker | undefined): void {
    if (worker === undefined || worker !== this.#worker) return;
    this.#end();
    this.#done(undefined);
  }

  #end(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}
