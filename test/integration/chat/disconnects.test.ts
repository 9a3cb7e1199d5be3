import { describe, expect, test } from 'vitest';
import { balanceOf, type GatewayClient, gatewayClient, settledGeneration } from '../../harness/gateway-client.ts';
import type { Protocol } from '../../harness/http-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { stall, streamAnswer, streamThen } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

const gateway = withGateway((provider) => ({
  config: {
    providers: {
      drain: { base_url: provider.baseUrl, on_disconnect: 'drain' },
      // Without `on_disconnect`, the default depends on the model (docs/interface.md).
      silent: { base_url: provider.baseUrl },
    },
    models: {
      drain: { targets: [{ provider: 'drain', model: 'drain' }] },
      plain: { targets: [{ provider: 'silent', model: 'plain' }] },
      reasoning: { reasoning_efforts: ['low', 'high'], targets: [{ provider: 'silent', model: 'reasoning' }] },
    },
    timeouts: { first_byte: '20s', stream_idle: '20s', total: '40s' },
  },
}));

const PIECES = Array.from({ length: 20 }, (_, index) => ` word${index}`);
const USAGE = { prompt_tokens: 100, completion_tokens: 50 };

async function newClient(protocol: Protocol): Promise<GatewayClient> {
  return gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key, { protocol });
}

/** Reads until `events` events have come, then hangs up. */
async function leaveAfter(client: GatewayClient, model: string, events: number): Promise<string> {
  const leaving = new AbortController();
  let id = '';
  let seen = 0;
  await client
    .chat(
      { model, stream: true },
      {
        signal: leaving.signal,
        onHead: (_, headers) => {
          id = String(headers['x-generation-id']);
        },
        onPiece: (text) => {
          seen += text.split('data: ').length - 1;
          if (seen >= events) leaving.abort();
        },
      },
    )
    .then(
      () => Promise.reject(new Error('the stream ended before the client could leave')),
      () => undefined,
    );
  return id;
}

async function providerIsDone(model: string): Promise<{ hungUp: boolean; answered: boolean }> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const seen = gateway.provider.requests(model).at(-1);
    if (seen && (seen.hungUp || seen.answered)) return { hungUp: seen.hungUp, answered: seen.answered };
    if (performance.now() > deadline) throw new Error('the provider still works on the request');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe.each(['http1', 'http2'] as const)('%s', (protocol) => {
  test('a stream is cancelled upstream and charged for the events that arrived', async () => {
    const model = 'plain';
    const client = await newClient(protocol);
    // The provider then stays silent, so only the client's disconnect ends the request.
    gateway.provider.script(model, streamThen(8, stall, { pieces: PIECES, usage: USAGE }));
    const id = await leaveAfter(client, model, 4);
    expect(await providerIsDone(model)).toEqual({ hungUp: true, answered: false });
    const generation = await settledGeneration(client, id);
    expect(generation).toMatchObject({ cancelled: true, streamed: true });
    expect(generation.tokens_prompt).toBeGreaterThan(0);
    expect(generation.tokens_completion).toBeGreaterThan(0);
    // The provider sent 8 of 20 events. All 20 words would be at least 40 tokens.
    expect(generation.tokens_completion).toBeLessThan(24);
    expect(await balanceOf(client)).toBeLessThan(100);
  });

  test.each(['drain', 'reasoning'])('%s: a stream is read to its end for the exact usage', async (model) => {
    const client = await newClient(protocol);
    const gate = createGate();
    const onEvent = (index: number) => (index === 6 ? gate.pass() : undefined);
    gateway.provider.script(model, streamAnswer({ pieces: PIECES, paceMs: 20, usage: USAGE, onEvent }));
    const id = await leaveAfter(client, model, 4);
    gate.open();
    expect(await providerIsDone(model)).toEqual({ hungUp: false, answered: true });
    expect(await settledGeneration(client, id)).toMatchObject({
      cancelled: true,
      tokens_prompt: 100,
      tokens_completion: 50,
      total_cost: 0.00015,
    });
  });
});
