import { expect, test } from 'vitest';
import { SCENARIOS as MESSAGES } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { SCENARIOS as RESPONSES } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { errorOf, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, rawAnswer } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';

/** Writes to a provider's prompt cache cost more than input, so they need a price. */
const APIS = ['chat', 'responses', 'anthropic'] as const;
type Api = (typeof APIS)[number];

const PRICES = {
  free: { input: 2, output: 10 },
  short: { input: 2, cache_write: 2.5, output: 10 },
  long: { input: 2, cache_write: 2.5, cache_write_1h: 4, output: 10 },
} as const;

const gateway = withGateway({
  config: {
    models: Object.fromEntries(
      Object.entries(PRICES).flatMap(([name, prices]) =>
        APIS.map((api) => [
          `${name}-${api}`,
          {
            usd_per_million_tokens: prices,
            targets: [{ provider: 'fake', model: `${name}-${api}`, api }],
          },
        ]),
      ),
    ),
  },
});

const ANSWERS: Readonly<Record<Api, () => Act>> = {
  chat: () => jsonAnswer(),
  responses: () => rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(RESPONSES.TEXT)),
  anthropic: () => rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(MESSAGES.TEXT)),
};

const control = (ttl: string) => ({ cache_control: { type: 'ephemeral', ttl } });
const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } };
const withPart = (mark: object) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }],
});

/** The cache markers in the body for each API. */
const SENT: Readonly<Record<Api, object>> = {
  chat: withPart({ ...control('1h'), ...BREAKPOINT }),
  responses: { input: [{ content: [BREAKPOINT] }] },
  anthropic: { messages: [{ content: [control('1h')] }] },
};

test.each(APIS)('%s: cache writes for an hour are refused without their price, and sent with it', async (api) => {
  const client = await gateway.openClient();
  for (const name of Object.keys(PRICES)) {
    const model = `${name}-${api}`;
    const asked = gateway.provider.requests(model).length;
    if (name === 'long') gateway.provider.script(model, ANSWERS[api]());
    const answer = await client.chat({ model, ...withPart({ ...control('1h'), ...BREAKPOINT }) });
    const requests = gateway.provider.requests(model).slice(asked);
    if (name === 'long') {
      expect(outcome(answer)).toBe('200');
      expect(requests).toHaveLength(1);
      expect(requests[0]?.json).toMatchObject(SENT[api]);
    } else {
      expect([outcome(answer), errorOf(answer).param]).toEqual([
        '400 invalid_request',
        'messages[0].content[0].cache_control',
      ]);
      expect(requests).toEqual([]);
    }
  }
});
