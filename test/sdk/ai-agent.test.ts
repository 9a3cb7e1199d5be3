import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, type LanguageModel, StreamProviderError, streamText, tool } from 'ai';
import { TOOL, TURNS } from '../provider/agent-provider.ts';
import { type AgentOptions, type AgentResult, agentTests, withAgentGateway } from './agent-loop.ts';

const TOOLS = {
  [TOOL]: tool({
    inputSchema: jsonSchema<{ step: number; note: string }>({
      type: 'object',
      properties: { step: { type: 'integer' }, note: { type: 'string' } },
      required: ['step', 'note'],
    }),
    execute: async ({ step }) => `seen ${step}`,
  }),
};

/** The AI SDK's own loop. */
async function run(model: LanguageModel, { stream }: AgentOptions): Promise<AgentResult> {
  const options = {
    ...{ model, tools: TOOLS, prompt: 'Look at every step.', stopWhen: isStepCount(TURNS), maxRetries: 0 },
    providerOptions: { openai: { reasoningEffort: 'medium' }, gateway: { reasoningEffort: 'medium' } },
  };
  if (!stream) return { answer: (await generateText(options)).text };
  let answer = '';
  for await (const part of streamText({ ...options, onError: () => {} }).fullStream) {
    if (part.type === 'start-step') answer = '';
    if (part.type === 'text-delta') answer += part.text;
    if (part.type === 'error') return described(part.error);
  }
  return { answer };
}

function described(error: unknown): AgentResult {
  if (!StreamProviderError.isInstance(error)) throw error;
  return { errorCode: String(error.code) };
}

const gateway = withAgentGateway();

agentTests(gateway, {
  name: 'AI SDK, openai',
  run: (options) => run(createOpenAI({ baseURL: options.baseUrl, apiKey: options.key }).chat(options.model), options),
});

/** Unlike the other providers, this one sends `reasoning_content` back. */
agentTests(gateway, {
  name: 'AI SDK, openai-compatible',
  run: (options) =>
    run(
      createOpenAICompatible({ name: 'gateway', baseURL: options.baseUrl, apiKey: options.key, includeUsage: true })(
        options.model,
      ),
      options,
    ),
});
