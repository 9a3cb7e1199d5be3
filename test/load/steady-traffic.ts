import { Agent } from 'undici';
import { type LoadJob, type Percentiles, percentiles } from './load-job.ts';
import { oneRequest } from './run-load.ts';

/**
 * Continuous requests until stopped, which must not be affected by reloads, rotations or restarts.
 */
export interface SteadyTraffic {
  /** Number of complete, good responses so far. */
  good(): number;
  /** Number of each fault so far, as in `LoadResult`. */
  faults(): Readonly<Record<string, number>>;
  /** Waits for requests in flight and returns the report. */
  stop(): Promise<TrafficReport>;
}

export interface TrafficReport {
  readonly good: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly latencyMs: Percentiles;
}

/** A kind of request and the number of them in flight. */
export type TrafficJob = Omit<LoadJob, 'requests' | 'rampMs'>;

export interface TrafficOptions {
  /** Number of responses after which a client replaces its connection. Default: never. */
  readonly requestsPerConnection?: number;
  /** PEM of the CA of the gateway's certificate. */
  readonly ca?: string;
}

export function startSteadyTraffic(jobs: readonly TrafficJob[], options: TrafficOptions = {}): SteadyTraffic {
  const { requestsPerConnection, ca } = options;
  const latencies: number[] = [];
  const faults: Record<string, number> = {};
  const began = performance.now();
  let going = true;

  const worker = async (job: TrafficJob): Promise<void> => {
    // Each client has its own connection, so that a fault affects one client.
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
