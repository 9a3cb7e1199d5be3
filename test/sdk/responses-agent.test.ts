import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, jsonSchema, StreamProviderError, streamText, tool } from 'ai';
import OpenAI, { APIError } from 'openai';
import type { Response, ResponseInputItem } from 'openai/resources/responses/responses';
import { TOOL, TURNS } from '../provider/agent-provider.ts';
import { type AgentOptions, type AgentResult, agentTests, withAgentGateway } from './agent-loop.ts';

const PARAMETERS = {
  type: 'object' as const,
  properties: { step: { type: 'integer' as const }, note: { type: 'string' as const } },
  required: ['step', 'note'],
  additionalProperties: false,
};

const gateway = withAgentGateway();

/** A loop over Responses that stores nothing, as in OpenAI's documentation. */
async function loop({ baseUrl, key, model, stream }: AgentOptions): Promise<AgentResult> {
  const client = new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
  const input: ResponseInputItem[] = [{ role: 'user', content: 'Look at every step.' }];
  for (;;) {
    const body = {
      ...{ model, input, store: false, include: ['reasoning.encrypted_content' as const] },
      reasoning: { effort: 'medium' as const },
      tools: [{ type: 'function' as const, name: TOOL, parameters: PARAMETERS, strict: true }],
    };
    const response: Response = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    input.push(...(response.output as ResponseInputItem[]));
    const calls = response.output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) return { answer: textOf(response) };
    for (const { call_id, arguments: given } of calls) {
      const { step } = JSON.parse(given) as { step: number };
      input.push({ type: 'function_call_output', call_id, output: `seen ${step}` });
    }
  }
}

function textOf({ output }: Response): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

agentTests(gateway, {
  name: 'OpenAI, responses',
  async run(options) {
    try {
      return await loop(options);
    } catch (error) {
      if (!(error instanceof APIError)) throw error;
      return { errorCode: error.code ?? null };
    }
  },
});

agentTests(gateway, {
  name: 'AI SDK, responses',
  async run({ baseUrl, key, model, stream }) {
    const options = {
      model: createOpenAI({ baseURL: baseUrl, apiKey: key }).responses(model),
      tools: {
        [TOOL]: tool({
          inputSchema: jsonSchema<{ step: number; note: string }>(PARAMETERS),
          execute: async ({ step }) => `seen ${step}`,
        }),
      },
      ...{ prompt: 'Look at every step.', stopWhen: isStepCount(TURNS), maxRetries: 0 },
      providerOptions: {
        openai: {
          store: false,
          forceReasoning: true,
          reasoningEffort: 'medium',
          include: ['reasoning.encrypted_content'],
        },
      },
    };
    if (!stream) return { answer: (await generateText(options)).text };
    let answer = '';
    for await (const part of streamText({ ...options, onError: () => {} }).fullStream) {
      if (part.type === 'start-step') answer = '';
      if (part.type === 'text-delta') answer += part.text;
      if (part.type !== 'error') continue;
      if (!StreamProviderError.isInstance(part.error)) throw part.error;
      return { errorCode: String(part.error.code) };
    }
    return { answer };
  },
});
