import { Agent } from 'undici';
import { type LoadJob, type Percentiles, percentiles } from './load-job.ts';
import { oneRequest } from './run-load.ts';

/**
 * Requests that go on until they are stopped: what must not notice that something is reloaded,
 * rotated or restarted meanwhile.
 */
export interface SteadyTraffic {
  /** Complete good answers so far. */
  good(): number;
  /** How often each fault was seen so far, as in LoadResult. */
  faults(): Readonly<Record<string, number>>;
  /** Lets what is in flight end and says what was seen. */
  stop(): Promise<TrafficReport>;
}

export interface TrafficReport {
  readonly good: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly latencyMs: Percentiles;
}

/** One kind of request and how many of it are in flight at any time. */
export type TrafficJob = Omit<LoadJob, 'requests' | 'rampMs'>;

export interface TrafficOptions {
  /**
   * After this many answers a connection is closed and another one opened, as clients come and go;
   * default: never.
   */
  readonly requestsPerConnection?: number;
  /** PEM of the authority that signed the gateway's certificate. */
  readonly ca?: string;
}

export function startSteadyTraffic(jobs: readonly TrafficJob[], options: TrafficOptions = {}): SteadyTraffic {
  const { requestsPerConnection, ca } = options;
  const latencies: number[] = [];
  const faults: Record<string, number> = {};
  const began = performance.now();
  let going = true;

  const worker = async (job: TrafficJob): Promise<void> => {
    // One connection of its own, so that a fault belongs to one client.
    const agentOptions = { connections: 1, pipelining: 1, ...(ca === undefined ? {} : { connect: { ca } }) };
    let agent = new Agent(agentOptions);
    for (let sent = 1; going; sent += 1) {
      const started = performance.now();
      const { fault } = await oneRequest(agent, job);
      if (fault === undefined) latencies.push(performance.now() - started);
      else faults[fault] = (faults[fault] ?? 0) + 1;
      if (requestsPerConnection !== undefined && sent % requestsPerConnection === 0) {
        await agent.destroy();
        agent = new Agent(agentOptions);
      }
    }
    await agent.destroy();
  };
  const workers = jobs.flatMap((job) => Array.from({ length: job.concurrency }, () => worker(job)));

  return {
    good: () => latencies.length,
    faults: () => ({ ...faults }),
    stop: async () => {
      going = false;
      await Promise.all(workers);
      const seconds = (performance.now() - began) / 1000;
      return { good: latencies.length, faults, seconds, latencyMs: percentiles(latencies) };
    },
  };
}
