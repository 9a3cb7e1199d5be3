import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TokenUsage } from '#core/pricing.ts';
import { PATIENCE_MS } from '#test/fixtures/patience.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { type AdmittedRequestOptions, provider } from './admitted-request.fixture.ts';
import { type Client, client, deliverTo, openDelivery } from './client.fixture.ts';
import { chunk, DONE, type ProviderHandler, STOP, usageChunk } from './egress.fixture.ts';
import { eventOf, type OtherApi, requestTo, SCENARIOS } from './other-apis.fixture.ts';

/**
 * The provider's words decide what is charged, never how the client behaved: nobody pays less than
 * a client that leaves, nor more than one that reads to the end.
 */
const { egress, delivery, another } = await openDelivery();

/** Time passes only where a client is waited for. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const HOUR_MS = 3_600_000;
/** Time that passes at once, by the time of the request: in the shorter one a drip ends it. */
const STEPS = [
  { totalMs: HOUR_MS, stepMs: 100_000 },
  { totalMs: 60_000, stepMs: 11_000 },
] as const;
/** Turns of the event loop in which all that was sent is read. */
const TURNS = 1_000;

/** One stream of a provider: pieces, and then its end. */
interface Script {
  readonly api: 'chat' | OtherApi;
  readonly pieces: readonly string[];
  readonly breaks: boolean;
}

/** Behaviour of a client: it does this after the provider's piece of that number. */
interface Behaviour {
  readonly does: 'reads' | 'leaves' | 'stays unread' | 'drips';
  readonly at: number;
  readonly keyed: boolean;
}

function scriptedBy({ pieces, breaks }: Script, to: Client, { does, at }: Behaviour): ProviderHandler {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [index, piece] of pieces.entries()) {
      response.write(piece);
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      if (index !== at) continue;
      if (does === 'leaves') to.leave();
      else if (does !== 'reads') to.stopReading();
    }
    if (breaks) response.destroy();
    else response.end();
  };
}

/** Charged usage. The time passes for which the client is waited for. */
async function charged(
  script: Script,
  behaviour: Behaviour,
  { totalMs, stepMs }: (typeof STEPS)[number],
  options: AdmittedRequestOptions,
): Promise<TokenUsage | undefined> {
  const timeouts = { firstByteMs: HOUR_MS, streamIdleMs: HOUR_MS, totalMs, heartbeatMs: 0 };
  const to = client();
  egress.respondWith(scriptedBy(script, to, behaviour));
  const what = requestTo(script.api as OtherApi, undefined, {
    ...{ stream: true, retriesPerTarget: 0, timeouts, keepsResponse: behaviour.keyed },
    ...options,
  });
  let over = false;
  const delivering = deliverTo(delivery, to, what, async () => {
    // The end of the stream would be waited for as well.
    to.read();
    return undefined;
  }).finally(() => {
    over = true;
  });
  for (let turn = 0, waits = 0; !over; turn++, await setImmediate()) {
    if (behaviour.does === 'stays unread' && to.waits > 0 && turn % TURNS === 0)
      await vi.advanceTimersByTimeAsync(stepMs);
    if (behaviour.does !== 'drips' || to.waits === waits) continue;
    waits = to.waits;
    await vi.advanceTimersByTimeAsync(stepMs);
    to.read();
    to.stopReading();
  }
  const { charges, outcome } = await delivering;
  if (to.heads.length > 0 && !outcome.clientGone) expect(to.text().endsWith(DONE)).toBe(true);
  expect(delivery.responseBudget.heldBytes).toBe(0);
  expect(charges.length).toBeLessThanOrEqual(1);
  return charges[0]?.usage;
}

const words = fc.array(fc.constantFrom(' one', ' two three', ' four'), { minLength: 1, maxLength: 8 });

const chatPieces = fc
  .record({ words, hidden: fc.nat(50_000), early: fc.boolean(), isReported: fc.boolean() })
  .map(({ words, hidden, early, isReported }) => {
    const prompt = { prompt_tokens: 70, prompt_tokens_details: { cached_tokens: 60 } };
    const all = { ...prompt, completion_tokens: 20 + hidden, completion_tokens_details: { reasoning_tokens: hidden } };
    return [
      chunk({ role: 'assistant', content: '' }, null, early ? { usage: { ...prompt, completion_tokens: 0 } } : {}),
      ...words.map((content) => chunk({ content })),
      STOP,
      ...(isReported ? [usageChunk(all)] : []),
      DONE,
    ];
  });

const script: fc.Arbitrary<Script> = fc
  .oneof(
    chatPieces.map((pieces) => ({ api: 'chat' as const, pieces })),
    fc.constantFrom(...SCENARIOS).map(({ api, events }) => ({ api, pieces: events.map(eventOf) })),
  )
  .chain(({ api, pieces }) =>
    fc
      .record({ until: fc.option(fc.integer({ min: 1, max: pieces.length })), breaks: fc.boolean() })
      .map(({ until, breaks }): Script => ({ api, pieces: pieces.slice(0, until ?? pieces.length), breaks })),
  );

const RUNS = 120;

test('for the same script of a provider, no client pays less than one that leaves or more than one that reads all', async () => {
  const request = fc.record({
    onDisconnect: fc.constantFrom('abort' as const, 'drain' as const),
    imageCeiling: fc.option(fc.constant(5_000), { nil: undefined }),
    // Some are too small for the stream.
    responseBodyBytes: fc.constantFrom(1e6, 1e6, 600),
    keyed: fc.boolean(),
    time: fc.constantFrom(...STEPS),
    at: fc.nat(12),
  });
  await fc.assert(
    fc.asyncProperty(
      script,
      request,
      async (said, { onDisconnect, imageCeiling, responseBodyBytes, keyed, time, at }) => {
        const options = {
          providers: [provider('alpha', { api: said.api, onDisconnect })],
          responseBodyBytes,
          ...(imageCeiling === undefined ? {} : { imageCeiling }),
        };
        const pays = (does: Behaviour['does']) => charged(said, { does, at, keyed }, time, options);
        const all = await pays('reads');
        const left = await pays('leaves');
        expect(await pays('stays unread')).toEqual(all);
        expect(await pays('drips')).toEqual(all);
        if (all === undefined || left === undefined) return;
        const isReadOn = onDisconnect === 'drain' || keyed || imageCeiling !== undefined;
        if (isReadOn) expect(left).toEqual(all);
        else {
          expect(left.promptTokens).toBeLessThanOrEqual(all.promptTokens);
          expect(left.completionTokens).toBeLessThanOrEqual(all.completionTokens);
        }
      },
    ),
    { numRuns: propertyRuns(RUNS) },
  );
});

const hidden = { completion_tokens: 50_003, completion_tokens_details: { reasoning_tokens: 50_000 } };
const PIECES = [chunk({ content: 'one' }), chunk({ content: ' two' }), chunk({ content: ' three' }), STOP];
const WHOLE: Script = {
  api: 'chat',
  pieces: [...PIECES, usageChunk({ prompt_tokens: 70, ...hidden }), DONE],
  breaks: false,
};
const PAID = { promptTokens: 70, completionTokens: 50_003, reasoningTokens: 50_000 };

/** A request whose client does not read, when the provider has sent the whole stream. */
async function unreadStream(options: AdmittedRequestOptions) {
  const to = client();
  to.stopReading();
  egress.respondWith(scriptedBy(WHOLE, to, { does: 'reads', at: 0, keyed: false }));
  const what = requestTo('chat' as OtherApi, undefined, { stream: true, ...options });
  const delivering = deliverTo(delivery, to, what, async () => {
    to.read();
    return undefined;
  });
  await vi.waitFor(() => expect(to.waits).toBe(1), { timeout: PATIENCE_MS });
  for (let turn = 0; turn < TURNS; turn++) await setImmediate();
  return { to, delivering };
}

test('a client that stays without reading pays for hidden reasoning, and later reads how the stream ended', async () => {
  const { to, delivering } = await unreadStream({ timeouts: { totalMs: HOUR_MS } });
  await vi.advanceTimersByTimeAsync(121_000);
  const { charges, outcome } = await delivering;
  expect(charges).toMatchObject([{ cancelled: false, finishReason: 'error', usageCounted: false, usage: PAID }]);
  expect(outcome).toMatchObject({ refusal: { code: 'request_timeout' }, attempts: [{ result: 'ok' }] });
  expect(to.text()).toMatch(/"one".*"code":"request_timeout".*data: \[DONE\]\n\n$/s);
  expect(to.text()).not.toContain('three');
  expect(to.ended).toBe(true);
});

test.each<[string, AdmittedRequestOptions, number, string]>([
  ['is larger than it may be', { responseBodyBytes: 300 }, 1e6, 'too_large'],
  ['finds no memory to be stored in', { keepsResponse: true }, 300, 'no_room'],
])(
  'a stream that %s is read to its end for its usage, and nothing more of it is passed on',
  async (_, options, bytes, result) => {
    const small = another({ responseBudgetBytes: bytes });
    const to = client();
    egress.respondWith(scriptedBy(WHOLE, to, { does: 'reads', at: 0, keyed: false }));
    const admitted = requestTo('chat' as OtherApi, undefined, { stream: true, ...options });
    const { charges, outcome } = await deliverTo(small, to, admitted);
    expect(charges).toMatchObject([{ finishReason: 'error', usageCounted: false, usage: PAID }]);
    expect(outcome).toMatchObject({ refusal: { code: 'upstream_error' }, attempts: [{ result }] });
    expect(to.text()).not.toContain('three');
    expect(to.text().endsWith(DONE)).toBe(true);
  },
);

test('a request that must end while its client does not read is charged for what the provider has sent', async () => {
  const end = new AbortController();
  const { to, delivering } = await unreadStream({ mustEnd: end.signal });
  end.abort();
  const { charges } = await delivering;
  expect(charges).toMatchObject([{ usageCounted: false, usage: PAID }]);
  expect(to.text().endsWith(DONE)).toBe(true);
});
