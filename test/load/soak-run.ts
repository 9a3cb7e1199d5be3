import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayClient, gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { metric } from '../harness/metrics-page.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { percentiles } from './load-job.ts';
import { type Interval, readUsage, summarize, type Usage, type Watched } from './soak-figures.ts';
import { REQUEST_KINDS, type RequestKind, SOAK_ACTS, type SoakScene } from './soak-requests.ts';

/**
 * Runs every kind of request for a long time, with failing providers, reloads, and keys that are
 * created and revoked.
 */
export interface SoakOptions {
  readonly postgresSocketDir: string;
  readonly postgresPid: number;
  readonly intervals: number;
  readonly intervalMs: number;
  readonly requestsPerSecond: number;
  readonly onInterval?: (interval: Interval, faults: Readonly<Record<string, number>>) => void;
}

export interface SoakResult {
  readonly intervals: readonly Interval[];
  /** Numbers of unexpected outcomes of requests and reloads. */
  readonly faults: Readonly<Record<string, number>>;
  readonly seen: Readonly<Record<string, number>>;
  /** Log lines that only a bug or an outage writes. */
  readonly errorLines: readonly string[];
}

/**
 * Each reload switches to the next provider. Resources of the former one are removed after
 * `timeouts.total` plus a minute.
 */
const PROVIDERS = 4;
const IN_FLIGHT = 48;
const CLIENTS = 12;
const READINGS = 6;
const RELOAD_WITHIN_MS = 20_000;
const HELD_WITHIN_MS = 30_000;

export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const providers = await Promise.all(Array.from({ length: PROVIDERS }, startSoakProvider));
  const stack = await startStack({ postgresSocketDir: options.postgresSocketDir, config: configOf(providers, 0) });
  const clients: GatewayClient[] = [];
  try {
    const organization = { concurrency: 10_000 };
    const customer = await stack.operator.customer({ credit: '1000000', organization });
    for (let index = 0; index < CLIENTS; index++) {
      clients.push(gatewayClient(stack.origin, customer.key, { protocol: index % 3 === 0 ? 'http2' : 'http1' }));
    }
    const soak = new Soak({ stack, customer, clients }, providers, options);
    const intervals = await soak.run();
    for (const client of clients) await untilNothingHeld(client, HELD_WITHIN_MS);
    await stack.operator.verifyLedger();
    return { intervals, faults: soak.faults, seen: soak.seen, errorLines: errorLinesOf(stack) };
  } finally {
    for (const client of clients) client.close();
    await stack.close();
    await Promise.all(providers.map((provider) => provider.close()));
  }
}

async function startSoakProvider(): Promise<FakeProvider> {
  const provider = await startFakeProvider({ record: false });
  for (const [model, act] of Object.entries(SOAK_ACTS)) provider.script(model, act);
  return provider;
}

function configOf(providers: readonly FakeProvider[], reload: number): TestConfig {
  const provider = providers[reload % providers.length];
  const price = { input: 1 + (reload % 7), output: 2 + (reload % 7) };
  const names = [...Object.keys(SOAK_ACTS), ...(reload % 2 === 0 ? [] : ['extra'])];
  return {
    providers: { fake: { base_url: provider?.baseUrl ?? '', on_disconnect: 'abort' } },
    models: Object.fromEntries(names.map((name) => [name, { usd_per_million_tokens: price, max_output_tokens: 1000 }])),
    limits: { read_rpm: 1_000_000 },
    timeouts: { first_byte: '5s', stream_idle: '5s', total: '10s' },
    retries: { per_target: 0 },
    idempotency: { retention: '60s' },
  };
}

class Soak {
  readonly faults: Record<string, number> = {};
  readonly seen: Record<string, number> = {};
  readonly #scene: SoakScene;
  readonly #providers: readonly FakeProvider[];
  readonly #options: SoakOptions;
  readonly #watched: Watched;
  #going = true;
  #requests = 0;
  #latenciesMs: number[] = [];

  constructor(scene: SoakScene, providers: readonly FakeProvider[], options: SoakOptions) {
    const { stack } = scene;
    this.#scene = scene;
    this.#providers = providers;
    this.#options = options;
    this.#watched = {
      gatewayPid: stack.gateway.pid,
      envoyPid: stack.envoy.pid,
      postgresPid: options.postgresPid,
      metricsOrigin: stack.metricsOrigin,
    };
  }

  async run(): Promise<Interval[]> {
    const began = performance.now();
    let slot = 0;
    const worker = async (): Promise<void> => {
      while (this.#going) {
        const request = slot++;
        const atMs = began + (1000 * request) / this.#options.requestsPerSecond;
        await sleep(Math.max(0, atMs - performance.now()));
        await this.#one(request);
      }
    };
    const workers = Array.from({ length: IN_FLIGHT }, worker);
    const intervals: Interval[] = [];
    for (let index = 1; index <= this.#options.intervals; index++) {
      const [interval] = await Promise.all([
        this.#interval(began + (index - 1) * this.#options.intervalMs),
        this.#reload(index),
      ]);
      intervals.push(interval);
      this.#options.onInterval?.(interval, this.faults);
    }
    this.#going = false;
    await Promise.all(workers);
    return intervals;
  }

  async #one(request: number): Promise<void> {
    const kind = kindOf(request);
    const client = this.#scene.clients[request % CLIENTS];
    if (client === undefined) throw new Error('there is a client for every number');
    const startedMs = performance.now();
    const ended = await kind.run(this.#scene, client).catch((error: Error) => error.message);
    this.#requests += 1;
    this.seen[kind.name] = (this.seen[kind.name] ?? 0) + 1;
    if (ended !== kind.expected) this.#fault(`${kind.name}: ${ended}`);
    else if (kind.expected === 'whole') this.#latenciesMs.push(performance.now() - startedMs);
  }

  async #interval(startMs: number): Promise<Interval> {
    const stepMs = this.#options.intervalMs / READINGS;
    const readings: Usage[] = [];
    for (let step = 1; step <= READINGS; step++) {
      await sleep(Math.max(0, startMs + step * stepMs - performance.now()));
      readings.push(await readUsage(this.#watched));
    }
    const [first, ...others] = readings;
    if (first === undefined) throw new Error('an interval has readings');
    const { p50, p99 } = percentiles(this.#latenciesMs);
    const interval = { requests: this.#requests, p50Ms: p50, p99Ms: p99, usage: summarize([first, ...others]) };
    this.#requests = 0;
    this.#latenciesMs = [];
    return interval;
  }

  /**
   * Loads a file that is refused, then one with another provider, other prices and other models.
   */
  async #reload(index: number): Promise<void> {
    const next = configOf(this.#providers, index);
    const bad = { ...next, retries: { per_target: -1 } };
    for (const [config, result] of [
      [bad, 'refused'],
      [next, 'applied'],
    ] as const) {
      const before = await this.#reads(result);
      this.#scene.stack.writeConfig(config);
      const deadlineMs = performance.now() + RELOAD_WITHIN_MS;
      while ((await this.#reads(result)) === before) {
        if (performance.now() > deadlineMs) return this.#fault(`reload: not ${result}`);
        await sleep(250);
      }
    }
  }

  #reads(result: 'applied' | 'refused'): Promise<number> {
    return metric(this.#scene.stack.metricsOrigin, 'gateway_configuration_reads_total', { result });
  }

  #fault(fault: string): void {
    this.faults[fault] = (this.faults[fault] ?? 0) + 1;
  }
}

/** Each hundred requests contain every kind according to its share, in mixed order. */
function kindOf(request: number): RequestKind {
  const deck = REQUEST_KINDS.flatMap((kind) => Array<RequestKind>(kind.share).fill(kind));
  const kind = deck[(request * 37) % deck.length];
  if (kind === undefined) throw new Error('the shares are positive');
  return kind;
}

/** Error lines without those about provider failures and refused files, which the test causes. */
function errorLinesOf(stack: Stack): string[] {
  return stack
    .logs()
    .split('\n')
    .filter((line) => /"level":"(error|fatal)"|unhandled|uncaught|FATAL|MaxListeners/i.test(line))
    .filter((line) => !line.includes('configuration not reloaded'));
}
