import { connect } from 'node:http2';
import { describe, test } from 'vitest';
import { gatewayClient, MESSAGES, settledGeneration } from '../harness/gateway-client.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { streamAnswer } from '../provider/acts.ts';

/**
 * A provider sends a complete response, most of which is hidden reasoning that only the final usage
 * counts. Clients that read it, disconnect or never read are all charged the same.
 */
const TOTAL_S = 60;
const gateway = withGateway((provider) => ({
  config: {
    providers: {
      fake: { base_url: provider.baseUrl },
      abort: { base_url: provider.baseUrl, on_disconnect: 'abort' },
    },
    models: Object.fromEntries(
      ['reasoning', 'plain'].map((id) => [
        id,
        {
          ...(id === 'plain' ? {} : { reasoning_efforts: ['low'] }),
          ...{ max_output_tokens: 70_000, usd_per_million_tokens: { input: 1, output: 10 } },
          targets: [{ provider: id === 'plain' ? 'abort' : 'fake', model: 'filled' }],
        },
      ]),
    ),
    timeouts: { first_byte: '30s', stream_idle: '30s', total: `${TOTAL_S}s` },
  },
}));

/** More text than the buffers between provider and client hold. */
const PIECES = Array.from({ length: 10_000 }, (_, index) => ` word${index % 10}`);
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 64_006,
  completion_tokens_details: { reasoning_tokens: 50_000 },
};
const COST_USD = (100 + 10 * 64_006) / 1e6;
const WINDOW_BYTES = 16 * 1024;
const DRIP_MS = 2_000;
const KEY = 'unread-1';

type Behaviour = 'reads' | 'leaves' | 'stays unread' | 'drips';

/** Requests over HTTP/2 with a small window, and behaves as given after the first bytes. */
async function ask(key: string, model: string, does: Behaviour, keyed: boolean) {
  const session = connect(gateway.stack.origin, { settings: { initialWindowSize: WINDOW_BYTES } });
  const stream = session.request({
    ...{ ':method': 'POST', ':path': '/v1/chat/completions', authorization: `Bearer ${key}` },
    ...(keyed ? { 'idempotency-key': KEY } : {}),
  });
  const bodyOf = { messages: MESSAGES, model, stream: true, max_tokens: 65_000 };
  stream.end(JSON.stringify(bodyOf));
  let text = '';
  let pauses = does === 'drips' || does === 'stays unread';
  const ended = new Promise<string>((resolve) => {
    stream.on('error', () => undefined).on('close', () => resolve(text));
  });
  const id = new Promise<string>((resolve) => {
    stream.once('response', (headers) => resolve(String(headers['x-generation-id'])));
  });
  const begun = new Promise<void>((resolve) => {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      if (pauses) stream.pause();
      resolve();
    });
  });
  await begun;
  if (does === 'leaves') session.destroy();
  const dripping = setInterval(() => does === 'drips' && stream.resume(), DRIP_MS);
  return {
    ...{ session, ended, id: await id },
    /** Reads the rest, unless the client has disconnected. */
    readOn() {
      pauses = false;
      clearInterval(dripping);
      if (does !== 'leaves') stream.resume();
    },
  };
}

describe.concurrent('a response that the provider completed is charged completely', {
  timeout: 4 * TOTAL_S * 1000,
}, () => {
  test.for<[string, Behaviour, boolean]>([
    ['reasoning', 'reads', false],
    ['reasoning', 'leaves', false],
    ['reasoning', 'stays unread', false],
    ['reasoning', 'stays unread', true],
    ['reasoning', 'drips', false],
    ['plain', 'stays unread', false],
  ])('%s: a client that %s (Idempotency-Key: %s)', async ([model, does, keyed], { expect }) => {
    gateway.provider.script('filled', streamAnswer({ pieces: PIECES, usage: USAGE }));
    const { key } = await gateway.stack.operator.customer();
    const reader = gatewayClient(gateway.stack.origin, key);
    const asked = await ask(key, model, does, keyed);
    const generation = await settledGeneration(reader, asked.id, 2 * TOTAL_S * 1000);
    expect(generation).toMatchObject({
      ...{ tokens_prompt: 100, tokens_completion: 64_006, tokens_reasoning: 50_000, total_cost: COST_USD },
      cancelled: does === 'leaves',
    });
    asked.readOn();
    if (does !== 'leaves') {
      const text = await asked.ended;
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(text.includes('"finish_reason":"error"')).toBe(does !== 'reads');
    }
    if (keyed) {
      const again = await reader.chat(
        { messages: MESSAGES, model, stream: true, max_tokens: 65_000 },
        { headers: { 'idempotency-key': KEY } },
      );
      expect(again.text.split('"content":" word').length).toBe(PIECES.length + 1);
      expect(again.text).not.toContain('"error"');
    }
    asked.session.destroy();
    reader.close();
  });
});
