import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { configFolder } from '#core/config/load.fixture.ts';
import type { TokenUsage } from '#core/pricing.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { client } from '../delivery/client.fixture.ts';
import type { DeliveryService } from '../delivery/delivery-service.ts';
import type { AdmittedRequest } from '../delivery/provider/admitted-request.ts';
import { sentTierOf } from '../delivery/provider/sent-tier.ts';
import type { Exchange } from '../transport/exchange.ts';
import { gatewayInMemory, KEY, PRICE_LIST } from './gateway-in-memory.fixture.ts';
import {
  askableTiers,
  billAt,
  chargeAt,
  costliestUsages,
  edgesOf,
  FIRST_MS,
  LENGTH_MS,
  priceList,
  type RawList,
  type RawSchedule,
  rawTableAt,
  rawTableOn,
  schedule,
  TIERS,
} from './scheduled-prices.fixture.ts';

/** The prices of a model, and the costs of its only target. */
interface File {
  readonly prices: RawSchedule;
  readonly costs: RawSchedule;
  /** The list of the organization. Absent: the file has none of that name. */
  readonly list: RawList | undefined;
  /** The target is not sent the tier that the client asks for. */
  readonly dropsTier: boolean;
}
const file: fc.Arbitrary<File> = fc.record({
  prices: schedule,
  costs: schedule,
  list: fc.option(priceList, { nil: undefined }),
  dropsTier: fc.boolean(),
});

/** An instant close to an edge of any of the schedules, or anywhere. */
const moment = fc.record({
  /** The first ones are those of dates. */
  edge: fc.oneof(fc.nat({ max: 3 }), fc.nat()),
  offsetMs: fc.oneof(fc.integer({ min: -2, max: 2 }), fc.integer({ min: -LENGTH_MS, max: LENGTH_MS })),
});
const delayMs = fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 2 * 86_400_000 }));
/** How much of what is possible. */
const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const request = fc.record({
  arrives: moment,
  /** Until the key is found, the body is read, and the provider has answered. */
  delaysMs: fc.tuple(delayMs, delayMs, delayMs),
  promptLength: fc.integer({ min: 0, max: 300 }),
  maxTokens: fc.integer({ min: 1, max: 500 }),
  completions: fc.integer({ min: 1, max: 3 }),
  /** Among those that it may ask for. */
  tier: fc.option(fc.nat()),
  served: fc.option(fc.constantFrom('default', 'unheard-of', ...TIERS), { nil: undefined }),
  used: fc.record({ prompt: share, cached: share, written: share, writtenForHour: share, output: share }),
});
type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never;
const history = fc.record({
  first: file,
  reloads: fc.array(fc.record({ at: moment, file }), { maxLength: 2 }),
  requests: fc.array(request, { minLength: 1, maxLength: 6 }),
});

const folder = configFolder();

async function load({ prices, costs, list, dropsTier }: File): Promise<GatewayConfig> {
  const request = dropsTier ? { drop: ['service_tier'] } : {};
  const targets = [{ provider: 'p', model: 'm-1', cost_usd_per_million_tokens: costs, request }];
  const model = { context_window: 100_000, max_output_tokens: 1000, usd_per_million_tokens: prices, targets };
  const price_lists = list === undefined ? {} : { [PRICE_LIST]: list };
  const text = { providers: { p: { base_url: 'http://127.0.0.1:1/v1' } }, models: { m: model }, price_lists };
  return (await folder.loaded(JSON.stringify(text))).config;
}

/** A request on its way, with the file that was in force when it arrived. */
class Sent {
  readonly file: File;
  readonly arrivedAtMs: number;
  readonly given: Request;
  readonly asked: string | undefined;
  readonly authenticated = Promise.withResolvers<void>();
  readonly uploaded = Promise.withResolvers<void>();
  readonly answered = Promise.withResolvers<void>();
  readonly statuses: number[] = [];
  admitted: AdmittedRequest | undefined;

  constructor(given: Request, arrivedAtMs: number, file: File) {
    const tiers = askableTiers(rawTableOn(file.list ?? {}, file.prices, arrivedAtMs));
    this.given = given;
    this.arrivedAtMs = arrivedAtMs;
    this.file = file;
    this.asked = given.tier === null ? undefined : tiers[given.tier % tiers.length];
  }

  exchange(): Exchange {
    const { promptLength, maxTokens, completions: n } = this.given;
    const messages = [{ role: 'user', content: 'x'.repeat(promptLength) }];
    const tier = this.asked === undefined ? {} : { service_tier: this.asked };
    const bytes = Buffer.from(JSON.stringify({ model: 'm', messages, max_tokens: maxTokens, n, ...tier }));
    return {
      ...client().exchange,
      header: (name) => (name === 'authorization' ? `Bearer ${KEY}` : undefined),
      readBody: async () => this.uploaded.promise.then(() => ({ kind: 'complete', bytes })),
      respond: async ({ status }) => void this.statuses.push(status),
    };
  }

  /** The most tokens that a provider may use for it. */
  bounds({ chat, outputLimit }: AdmittedRequest): [prompt: number, output: number] {
    return [chat.inputTokens.ceiling, chat.completions * outputLimit];
  }

  usage(admitted: AdmittedRequest): TokenUsage {
    const { used } = this.given;
    const [prompt, output] = this.bounds(admitted);
    const promptTokens = Math.floor(used.prompt * prompt);
    const cachedTokens = Math.floor(used.cached * promptTokens);
    const cacheWriteTokens = Math.floor(used.written * (promptTokens - cachedTokens));
    return {
      ...{ promptTokens, cachedTokens, cacheWriteTokens, reasoningTokens: 0 },
      cacheWrite1hTokens: Math.floor(used.writtenForHour * cacheWriteTokens),
      completionTokens: Math.floor(used.output * output),
    };
  }

  /** As the file in force at the arrival says, by a calculation that shares nothing with it. */
  expected(admitted: AdmittedRequest) {
    const { file, arrivedAtMs, asked } = this;
    const tiers = { asked, sent: file.dropsTier ? undefined : asked };
    const prices = rawTableOn(file.list ?? {}, file.prices, arrivedAtMs);
    const costs = rawTableAt(file.costs, arrivedAtMs);
    const served = { ...tiers, served: this.given.served };
    const usage = this.usage(admitted);
    const costliest = costliestUsages(prices, ...this.bounds(admitted)).flatMap((most) =>
      [undefined, 'default', ...TIERS].map((tier) => chargeAt(prices, { ...tiers, served: tier }, most)),
    );
    return { chargeNanoUsd: chargeAt(prices, served, usage), billNanoUsd: billAt(costs, served, usage), costliest };
  }
}

async function play({ first, reloads, requests }: typeof history extends fc.Arbitrary<infer Value> ? Value : never) {
  const edges = [first, ...reloads.map(({ file }) => file)].flatMap(({ prices, costs, list }) => {
    const listed = list?.m !== undefined && !('percent' in list.m) ? [list.m] : [];
    return [prices, costs, ...listed].flatMap(edgesOf);
  });
  const msOf = ({ edge, offsetMs }: (typeof requests)[number]['arrives']) =>
    Math.min(Math.max((edges[edge % edges.length] ?? 0) + offsetMs, FIRST_MS), FIRST_MS + LENGTH_MS);
  const files = reloads.map(({ at, file }) => ({ atMs: msOf(at), file })).toSorted((a, b) => a.atMs - b.atMs);
  const sent = requests.map((given) => {
    const atMs = msOf(given.arrives);
    return new Sent(given, atMs, files.findLast((one) => one.atMs <= atMs)?.file ?? first);
  });

  let nowMs = FIRST_MS;
  let config = await load(first);
  let arriving: Sent | undefined;
  const byExchange = new Map<Exchange, Sent>();
  const deliver: DeliveryService['deliver'] = async (admitted, exchange, hold) => {
    const one = byExchange.get(exchange);
    const target = admitted.model.targets[0];
    if (one === undefined || target === undefined) throw new Error('nobody sent this');
    one.admitted = admitted;
    hold.asked(target, { tier: sentTierOf(target, admitted.chat), promptTokens: 1 });
    await one.answered.promise;
    const facts = { usageCounted: false, cancelled: false, firstEventMs: 1, generationTimeMs: 1 };
    const tier = one.given.served === undefined ? {} : { serviceTier: one.given.served };
    await hold.charge({ provider: 'p', providerModel: 'm-1', usage: one.usage(admitted), ...tier, ...facts });
    return { status: 200, attempts: [], clientGone: false };
  };
  const gateway = gatewayInMemory({
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    config: () => config,
    deliver,
    authenticated: async () => arriving?.authenticated.promise,
  });

  const handled: Promise<void>[] = [];
  const happenings: [atMs: number, act: () => void][] = [];
  for (const { atMs, file } of files) {
    const next = await load(file);
    happenings.push([
      atMs,
      () => {
        config = next;
      },
    ]);
  }
  for (const one of sent) {
    const [keyMs, bodyMs, answerMs] = one.given.delaysMs;
    happenings.push(
      [
        one.arrivedAtMs,
        () => {
          const exchange = one.exchange();
          byExchange.set(exchange, one);
          arriving = one;
          handled.push(gateway.handle(exchange));
        },
      ],
      [one.arrivedAtMs + keyMs, one.authenticated.resolve],
      [one.arrivedAtMs + keyMs + bodyMs, one.uploaded.resolve],
      [one.arrivedAtMs + keyMs + bodyMs + answerMs, one.answered.resolve],
    );
  }
  for (const [atMs, act] of happenings.toSorted(([a], [b]) => a - b)) {
    nowMs = atMs;
    act();
    await setImmediate();
  }
  await Promise.all(handled);
  await gateway.close();
  return { sent, gateway };
}

test('a charge has the prices of the arrival, and is within the hold, whatever happens meanwhile', async () => {
  const property = fc.asyncProperty(history, async (given) => {
    const { sent, gateway } = await play(given);
    expect(sent.map(({ statuses }) => statuses)).toEqual(sent.map(() => []));
    const charges = gateway.charges();
    expect(charges).toHaveLength(sent.length);
    for (const one of sent) {
      const { admitted } = one;
      const charge = charges.find(({ generationId }) => generationId === admitted?.generationId);
      if (admitted === undefined || charge === undefined) throw new Error('a request was not charged');
      const { chargeNanoUsd, billNanoUsd, costliest } = one.expected(admitted);
      expect([charge.costNanoUsd, charge.providerCostNanoUsd, charge.createdAtMs]).toEqual([
        chargeNanoUsd,
        billNanoUsd,
        one.arrivedAtMs,
      ]);
      const { holdNanoUsd = 0n } = charge;
      expect(costliest.filter((nanoUsd) => nanoUsd > holdNanoUsd)).toEqual([]);
    }
    expect(await gateway.heldNanoUsd()).toBe(0n);
  });
  // The limit is for shrinking, which takes a thousand further histories.
  await fc.assert(property, { numRuns: propertyRuns(200), interruptAfterTimeLimit: 30_000 });
});
