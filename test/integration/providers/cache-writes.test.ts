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
            capabilities: ['tools'],
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

const control = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) } });
const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } };
const withPart = (mark: object) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }],
});
const PART = 'messages[0].content[0]';
const CALL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
const TOOLS = [{ type: 'function', function: { name: 'f' } }];

interface Door {
  readonly param: string;
  readonly body: object;
  readonly lasting: 'short' | 'long';
  /** The part of the sent body that asks for writes. Absent: the API has no counterpart. */
  readonly sent: Partial<Record<Api, object>>;
}

const DOORS: readonly Door[] = [
  {
    param: `${PART}.cache_control`,
    body: withPart({ ...control('1h'), ...BREAKPOINT }),
    lasting: 'long',
    sent: {
      chat: withPart({ ...control('1h'), ...BREAKPOINT }),
      responses: { input: [{ content: [BREAKPOINT] }] },
      anthropic: { messages: [{ content: [control('1h')] }] },
    },
  },
  {
    param: `${PART}.cache_control`,
    body: withPart(control()),
    lasting: 'short',
    sent: { chat: withPart(control()), anthropic: { messages: [{ content: [control()] }] } },
  },
  {
    param: `${PART}.prompt_cache_breakpoint`,
    body: withPart(BREAKPOINT),
    lasting: 'short',
    sent: { chat: withPart(BREAKPOINT), responses: { input: [{ content: [BREAKPOINT] }] } },
  },
  {
    param: 'messages[0].cache_control',
    body: { messages: [{ role: 'user', content: 'hi', ...control('5m') }] },
    lasting: 'short',
    sent: {
      chat: { messages: [control('5m')] },
      anthropic: { messages: [{ content: [control('5m')] }] },
    },
  },
  {
    param: 'messages[1].tool_calls[0].cache_control',
    body: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', tool_calls: [{ ...CALL, ...control() }] },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
      ],
      tools: TOOLS,
    },
    lasting: 'short',
    sent: {
      chat: { messages: [{}, { tool_calls: [control()] }, {}] },
      anthropic: { messages: [{}, { content: [control()] }, {}] },
    },
  },
  {
    param: 'tools[0].cache_control',
    body: { tools: [{ ...TOOLS[0], ...control('1h') }] },
    lasting: 'long',
    sent: { chat: { tools: [control('1h')] }, anthropic: { tools: [control('1h')] } },
  },
  {
    param: 'tools[0].function.cache_control',
    body: { tools: [{ type: 'function', function: { name: 'f', ...control() } }] },
    lasting: 'short',
    sent: { chat: { tools: [{ function: control() }] }, anthropic: { tools: [control()] } },
  },
  {
    param: 'prompt_cache_options',
    body: { prompt_cache_options: { mode: 'explicit' } },
    lasting: 'short',
    sent: {
      chat: { prompt_cache_options: { mode: 'explicit' } },
      responses: { prompt_cache_options: { mode: 'explicit' } },
    },
  },
  {
    param: 'prompt_cache_retention',
    body: { prompt_cache_retention: '24h' },
    lasting: 'long',
    sent: { chat: { prompt_cache_retention: '24h' }, responses: { prompt_cache_retention: '24h' } },
  },
];

test.each(APIS.flatMap((api) => DOORS.map((door) => [api, door.param, door.lasting, door] as const)))(
  '%s: %s (%s) is refused without its price, and sent with it',
  async (api, param, lasting, { body, sent }) => {
    const client = await gateway.openClient();
    for (const name of Object.keys(PRICES)) {
      const model = `${name}-${api}`;
      const asked = gateway.provider.requests(model).length;
      const isPriced = name === 'long' || (name === 'short' && lasting === 'short');
      if (isPriced) gateway.provider.script(model, ANSWERS[api]());
      const answer = await client.chat({ model, ...body });
      const requests = gateway.provider.requests(model).slice(asked);
      if (isPriced) {
        expect(outcome(answer)).toBe('200');
        expect(requests).toHaveLength(1);
        expect(requests[0]?.json).toMatchObject(sent[api] ?? {});
        if (sent[api] === undefined) expect(requests[0]?.body).not.toContain('cache');
      } else {
        expect([outcome(answer), errorOf(answer).param]).toEqual(['400 invalid_request', param]);
        expect(requests).toEqual([]);
      }
    }
  },
);
