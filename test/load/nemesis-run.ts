import { setTimeout as sleep } from 'node:timers/promises';
import { gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { openOperator } from '../harness/operator.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { creditPoor, POOR_CREDIT_USD, startLoad } from './accident-load.ts';
import { type Excuse, judge, type Verdict } from './accident-verdict.ts';
import { COUNTED_MODELS, type CountingProvider, startCountingProvider } from './counting-provider.ts';
import { nemesisAccidents } from './nemesis-accidents.ts';
import { type Battlefield, bridgeAddress, raise, untilReady } from './nemesis-compose.ts';

export interface NemesisOptions {
  readonly durationMs: number;
  readonly requestsPerSecond: number;
  /** Pause after each accident. */
  readonly pauseMs: number;
  /** Ends the accidents early. The verdict is still computed. */
  readonly signal: AbortSignal;
  readonly onAccident: (name: string, requestsSoFar: number) => void;
}

export interface NemesisVerdict extends Verdict {
  readonly accidents: number;
  readonly canSetRedisClock: boolean;
  readonly logs: string;
}

/** Clients of each gateway process. */
const CLIENTS = 6;
const READY_MS = 120_000;
/** `timeouts.total` plus a minute, after which the holds of a lost process have ended. */
const HELD_MS = 100_000;
/** `timeouts.total` plus the time to ship the log, after which requests in flight are charged. */
const CHARGED_WITHIN_MS = 30_000;
const ORGANIZATION = { concurrency: 10_000 };

/**
 * Sends requests of every kind through two pairs of containers while their networks, clocks and
 * stores fail in turn, and returns the verdict.
 */
export async function runNemesis(options: NemesisOptions): Promise<NemesisVerdict> {
  const provider = await startCountingProvider(await bridgeAddress());
  try {
    const field = await raise(configOf(provider));
    try {
      return await fight(field, provider, options);
    } finally {
      await field.down();
    }
  } finally {
    await provider.close();
  }
}

async function fight(field: Battlefield, provider: CountingProvider, options: NemesisOptions): Promise<NemesisVerdict> {
  const operator = await openOperator(field.databaseUrl);
  const rich = await operator.customer({ credit: '1000000', organization: ORGANIZATION });
  const poor = await operator.customer({ credit: POOR_CREDIT_USD, organization: ORGANIZATION });
  // Neighbours in the list use different gateway processes.
  const clientsOf = (key: string) =>
    Array.from({ length: CLIENTS }, () => field.origins.map((origin) => gatewayClient(origin, key))).flat();
  const clients = { rich: clientsOf(rich.key), poor: clientsOf(poor.key) };
  const all = [...clients.rich, ...clients.poor];
  try {
    const load = startLoad(clients, options.requestsPerSecond);
    const until = AbortSignal.any([options.signal, AbortSignal.timeout(options.durationMs)]);
    const crediting = creditPoor(operator, poor.organizationId, until);
    const { excuses, accidents } = await accidentsDuring(field, options, load.begun);
    const seen = await load.stop();
    await crediting;
    await untilReady(field, READY_MS);
    for (const client of all) await untilNothingHeld(client, HELD_MS);
    const verdict = await judge(field, provider, seen, excuses);
    return { ...verdict, accidents, canSetRedisClock: field.canSetRedisClock, logs: await field.logs() };
  } finally {
    for (const client of all) client.close();
    await operator.close();
  }
}

async function accidentsDuring(
  field: Battlefield,
  { durationMs, pauseMs, signal, onAccident }: NemesisOptions,
  begun: () => number,
): Promise<{ readonly excuses: readonly Excuse[]; readonly accidents: number }> {
  const untilMs = performance.now() + durationMs;
  const turns = nemesisAccidents(field.canSetRedisClock);
  const excuses: Excuse[] = [];
  const rest = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  let accidents = 0;
  while (performance.now() + pauseMs < untilMs && !signal.aborted) {
    await rest(pauseMs);
    const accident = turns[accidents % turns.length];
    if (accident === undefined) throw new Error('there is an accident for every turn');
    onAccident(accident.name, begun());
    const from = new Date();
    await accident.run(field);
    const until = new Date(Date.now() + CHARGED_WITHIN_MS);
    if (accident.mayLose) excuses.push({ reason: accident.mayLose, from, until });
    accidents += 1;
  }
  await rest(Math.max(0, untilMs - performance.now()));
  return { excuses, accidents };
}

function configOf(provider: CountingProvider): TestConfig {
  return {
    providers: { counting: { base_url: provider.baseUrl, on_disconnect: 'abort' } },
    models: Object.fromEntries(COUNTED_MODELS.map((name) => [name, {}])),
    timeouts: { first_byte: '10s', stream_idle: '10s', total: '20s' },
    retries: { per_target: 0 },
  };
}
