import { Worker } from 'node:worker_threads';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { type ProviderResponse, type ResponseNames, readResponse } from './read-response.ts';
import type { ReadJob, ReadResult } from './read-response-worker.ts';

/** Size up to which the event loop parses a response: 5 ms of CPU. */
const AT_ONCE_BYTES = 1024 * 1024;

/** Timeout of one response: 64 MiB take at most 2 s of CPU. */
const TIMEOUT_MS = 20_000;

/** Time after which an idle thread ends and frees its memory. */
const IDLE_MS = 5_000;

interface Waiting extends ReadJob {
  readonly resolve: (result: ReadResult) => void;
}

/**
 * Parses whole JSON responses: small ones at once, large ones one by one in a thread, where
 * organizations take turns.
 */
export class ResponseReader {
  /** Waiting responses by organization, in the order of turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #reading: Waiting | undefined;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #tooSlow: NodeJS.Timeout | undefined;

  /** `bytes` above `AT_ONCE_BYTES` are the thread's, and must not be used any more. */
  read(bytes: Buffer, names: ResponseNames, organizationId: string): Promise<ReadResult> | ReadResult {
    if (bytes.length <= AT_ONCE_BYTES) return readResponse(bytes.toString(), names);
    return new Promise((resolve) => {
      const job = { bytes: bytes as Buffer<ArrayBuffer>, names, resolve };
      const others = this.#waiting.get(organizationId);
      if (others === undefined) this.#waiting.set(organizationId, [job]);
      else others.push(job);
      this.#next();
    });
  }

  close(): void {
    for (const jobs of this.#waiting.values()) for (const { resolve } of jobs) resolve(FAILURES.reset);
    this.#waiting.clear();
    this.#failed(this.#worker);
    clearTimeout(this.#idle);
  }

  #next(): void {
    if (this.#reading !== undefined) return;
    clearTimeout(this.#idle);
    const [turn] = this.#waiting;
    if (turn === undefined) {
      this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
      return;
    }
    const [organizationId, jobs] = turn;
    this.#waiting.delete(organizationId);
    const [job, ...others] = jobs;
    if (others.length > 0) this.#waiting.set(organizationId, others);
    this.#reading = job;
    const worker = this.#worker ?? this.#start();
    this.#worker = worker;
    this.#tooSlow = setTimeout(() => this.#failed(worker), TIMEOUT_MS);
    if (job) worker.postMessage({ bytes: job.bytes, names: job.names } satisfies ReadJob, [job.bytes.buffer]);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./read-response-worker.ts', import.meta.url));
    worker.unref();
    // Messages of a former thread are ignored.
    worker.on('message', (result: ReadResult) => worker === this.#worker && this.#done(ofThisThread(result)));
    worker.on('error', () => this.#failed(worker));
    return worker;
  }

  #done(result: ReadResult): void {
    clearTimeout(this.#tooSlow);
    const job = this.#reading;
    this.#reading = undefined;
    job?.resolve(result);
    this.#next();
  }

  /** Ends a thread that takes too long or broke. The next response gets a new one. */
  #failed(worker: Worker | undefined): void {
    if (worker === undefined || worker !== this.#worker) return;
    this.#end();
    this.#done(FAILURES.tooLarge);
  }

  #end(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}

/** Between threads a buffer is only an array. */
function ofThisThread(result: ReadResult): ProviderResponse | ProviderFailure {
  if (result.kind === 'failure' || typeof result.open === 'string') return result;
  const { buffer, byteOffset, length } = result.open;
  return { ...result, open: Buffer.from(buffer, byteOffset, length) };
}
