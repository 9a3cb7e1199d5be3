import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { expect, test } from 'vitest';
import { TOOL } from '../provider/agent-provider.ts';
import { type AgentOptions, type AgentResult, agentTests, withAgentGateway } from './agent-loop.ts';

const gateway = withAgentGateway();

function clientFor({ baseUrl, key }: Pick<AgentOptions, 'baseUrl' | 'key'>): Anthropic {
  // The library adds /v1 itself.
  return new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), authToken: key, apiKey: null, maxRetries: 0 });
}

const SETTINGS = { max_tokens: 4_000, thinking: { type: 'enabled' as const, budget_tokens: 2_048 } };
const PROMPT = 'Look at every step.';
const STEP = {
  type: 'object' as const,
  properties: { step: { type: 'integer' as const }, note: { type: 'string' as const } },
  required: ['step', 'note'] as const,
};

/** A loop over Messages, as in Anthropic's documentation. */
async function loop({ model, stream, ...access }: AgentOptions): Promise<AgentResult> {
  const client = clientFor(access);
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: PROMPT }] }];
  for (;;) {
    const body = {
      model,
      messages,
      ...SETTINGS,
      tools: [{ name: TOOL, input_schema: { ...STEP, required: [...STEP.required] } }],
    };
    const message = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    messages.push({ role: 'assistant', content: message.content });
    const calls = message.content.filter((block) => block.type === 'tool_use');
    if (calls.length === 0) return { answer: textOf(message) };
    const results = calls.map(({ id, input }): Anthropic.ToolResultBlockParam => {
      return { type: 'tool_result', tool_use_id: id, content: `seen ${(input as { step: number }).step}` };
    });
    messages.push({ role: 'user', content: results });
  }
}

/** The library's own loop. Its first request asks for a thread, and goes on without one. */
async function run({ model, stream, ...access }: AgentOptions): Promise<AgentResult> {
  const look = betaTool({
    ...{ name: TOOL, description: '', inputSchema: STEP },
    run: ({ step }) => `seen ${step}`,
  });
  const messages = [{ role: 'user' as const, content: PROMPT }];
  const runner = clientFor(access).beta.messages.toolRunner({ model, messages, ...SETTINGS, stream, tools: [look] });
  return { answer: textOf(await runner.runUntilDone()) };
}

function textOf({
  content,
}: {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** The library's `error` is the whole body. */
function codeOf({ error }: APIError): string | null {
  return (error as { error?: { code?: string } }).error?.code ?? null;
}

for (const [name, agent] of Object.entries({ Anthropic: loop, "Anthropic's tool runner": run })) {
  agentTests(gateway, {
    name,
    async run(options) {
      try {
        return await agent(options);
      } catch (error) {
        if (!(error instanceof APIError)) throw error;
        return { errorCode: codeOf(error) };
      }
    },
  });
}

const asked = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] };

test.each([
  ['sk-gw-none', 'thinks-over-chat', Anthropic.AuthenticationError, 'invalid_api_key'],
  [undefined, 'none', Anthropic.NotFoundError, 'model_not_found'],
] as const)("raises the library's own errors with the gateway's code: %s %s", async (wrongKey, model, kind, code) => {
  const { key } = await gateway.stack.operator.customer();
  const client = clientFor({ baseUrl: `${gateway.stack.origin}/v1`, key: wrongKey ?? key });
  const error = await client.messages.create({ ...asked, model }).catch((failed: unknown) => failed);
  expect(error).toBeInstanceOf(kind);
  expect(codeOf(error as APIError)).toBe(code);
});

test("counts tokens, and reports insufficient credits with the library's own error", async () => {
  const { key } = await gateway.stack.operator.customer({ credit: '0.000001' });
  const client = clientFor({ baseUrl: `${gateway.stack.origin}/v1`, key });
  const model = 'thinks-over-chat';
  expect(await client.messages.countTokens({ model, messages: asked.messages })).toEqual({
    input_tokens: expect.any(Number),
  });
  const error = await client.messages.create({ ...asked, model }).catch((failed: unknown) => failed);
  expect(error).toBeInstanceOf(Anthropic.PaymentRequiredError);
  expect(codeOf(error as APIError)).toBe('insufficient_credits');
});

test("lists models as the library's own, on one page", async () => {
  const { key } = await gateway.stack.operator.customer();
  const client = clientFor({ baseUrl: `${gateway.stack.origin}/v1`, key });
  const id = 'thinks-over-chat';
  const shown = { id, type: 'model', display_name: id, created_at: expect.stringMatching(/^\d{4}-.*Z$/) };
  // Claude Code asks for 1,000, and the library's beta always with a query.
  for (const pages of [client.models.list({ limit: 1_000 }), client.beta.models.list({ after_id: 'other' })]) {
    const listed: { readonly id: string }[] = [];
    for await (const model of pages) listed.push(model);
    expect(listed.filter((model) => model.id === id)).toEqual([expect.objectContaining(shown)]);
  }
  expect(await client.beta.models.retrieve(id)).toMatchObject(shown);
});
