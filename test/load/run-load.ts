import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import { type LoadJob, type LoadResult, percentiles } from './load-job.ts';

/** Runs one job over keep-alive HTTP/1.1 connections and checks every response to its last byte. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const pool = new Pool(job.origin, {
    connections: job.concurrency,
    pipelining: 1,
    headersTimeout: job.timeoutMs ?? 60_000,
    bodyTimeout: job.timeoutMs ?? 60_000,
  });
  const latencies: number[] = [];
  const firstBytes: number[] = [];
  const faults: Record<string, number> = {};
  const began = performance.now();
  let left = job.requests;
  const callers = callersOf(job);

  const worker = async (index: number): Promise<void> => {
    if (job.rampMs) await sleep(job.rampMs * index);
    while (left > 0) {
      left -= 1;
      const caller = callers[left % callers.length] ?? job;
      const started = performance.now();
      const outcome = await oneRequest(pool, caller);
      if (outcome.fault === undefined) {
        latencies.push(performance.now() - started);
        firstBytes.push(outcome.firstByteAt - started);
      } else {
        faults[outcome.fault] = (faults[outcome.fault] ?? 0) + 1;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(job.concurrency, job.requests) }, (_, index) => worker(index)));
  const seconds = (performance.now() - began) / 1000;
  await pool.destroy();
  return {
    good: latencies.length,
    faults,
    seconds,
    latencyMs: percentiles(latencies),
    firstByteMs: percentiles(firstBytes),
  };
}

/** A copy of the job for each of its keys. */
function callersOf(job: LoadJob): LoadJob[] {
  if (job.keys === undefined) return [job];
  return job.keys.map((key) => ({ ...job, headers: { ...job.headers, authorization: `Bearer ${key}` } }));
}

interface Outcome {
  readonly fault: string | undefined;
  readonly firstByteAt: number;
}

/** Sends one request of the job and checks its response to the last byte. Never rejects. */
export function oneRequest(
  dispatcher: Dispatcher,
  job: Pick<LoadJob, 'origin' | 'path' | 'headers' | 'body' | 'mustContain'>,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const answer = new AnswerCheck(job.mustContain);
    dispatcher.dispatch(
      { origin: job.origin, path: job.path, method: 'POST', headers: job.headers, body: job.body },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, status) => answer.status(status),
        onResponseData: (_controller, piece) => answer.data(piece),
        onResponseEnd: () => resolve({ fault: answer.fault(), firstByteAt: answer.firstByteAt }),
        onResponseError: (_controller, error) => resolve({ fault: `${error.name}: ${error.message}`, firstByteAt: 0 }),
      },
    );
  });
}

/** Keeps only the end of a response, which contains the marker of a good one. */
class AnswerCheck {
  firstByteAt = 0;
  readonly #mustContain: string;
  #status = 0;
  #tail = '';

  constructor(mustContain: string) {
    this.#mustContain = mustContain;
  }

  status(status: number): void {
    this.#status = status;
  }

  data(piece: Buffer): void {
    if (this.firstByteAt === 0) this.firstByteAt = performance.now();
    this.#tail = `${this.#tail}${piece.toString('latin1')}`.slice(-4096);
  }

  fault(): string | undefined {
    if (this.#status !== 200) return `${this.#status} ${/"code":"(\w+)"/.exec(this.#tail)?.[1] ?? ''}`;
    if (this.#tail.includes('"finish_reason":"error"')) return 'error event in a stream';
    return this.#tail.includes(this.#mustContain) ? undefined : 'answer cut short';
  }
}
