import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  generateText,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  RetryError,
  StreamProviderError,
  streamText,
  tool,
} from 'ai';
import type { SdkCall, SdkClient, SdkResult } from './sdk-client.ts';

/** Settings of the AI SDK's providers, named as in their READMEs. */
interface ProviderSettings {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly headers: Record<string, string>;
  readonly includeUsage: boolean;
}

type OpenModel = (settings: ProviderSettings, id: string) => LanguageModel;

/**
 * `ai` with @ai-sdk/openai. Its `.chat()` uses chat completions. Without it the provider uses
 * /v1/responses.
 */
export function aiOpenaiClient(baseURL: string, apiKey: string): SdkClient {
  return aiClient(baseURL, apiKey, ({ includeUsage: _, ...settings }, id) => createOpenAI(settings).chat(id));
}

/** `ai` with @ai-sdk/openai-compatible. */
export function aiCompatibleClient(baseURL: string, apiKey: string): SdkClient {
  return aiClient(baseURL, apiKey, (settings, id) => createOpenAICompatible({ name: 'gateway', ...settings })(id));
}

function aiClient(baseURL: string, apiKey: string, open: OpenModel): SdkClient {
  return {
    call: async (call) => {
      const settings = {
        baseURL,
        apiKey: call.api_key ?? apiKey,
        headers: { ...call.headers },
        includeUsage: call.stream_options?.include_usage ?? false,
      };
      const prompt = {
        model: open(settings, call.model ?? ''),
        messages: messagesOf(call),
        tools: toolsOf(call),
        maxRetries: call.max_retries ?? 0,
      };
      try {
        return call.stream ? await streamed(prompt) : await whole(prompt);
      } catch (error) {
        return described(error);
      }
    },
    close: async () => {},
  };
}

type Prompt = Pick<Parameters<typeof generateText>[0], 'model' | 'tools' | 'maxRetries'> & {
  readonly messages: ModelMessage[];
};

/** The tools have no `execute`, so the SDK passes calls to its caller. */
function toolsOf({ tools = [] }: SdkCall): NonNullable<Prompt['tools']> {
  const functions = tools.flatMap((entry) => (entry.type === 'function' ? [entry.function] : []));
  return Object.fromEntries(
    functions.map(({ name, parameters = {} }) => [name, tool({ inputSchema: jsonSchema(parameters) })]),
  );
}

/** A conversation with tool calls in the SDK's format. */
function messagesOf({ messages = [] }: SdkCall): ModelMessage[] {
  const names = new Map<string, string>();
  return messages.map((message): ModelMessage => {
    if (message.role === 'assistant' && message.tool_calls) {
      const calls = message.tool_calls.flatMap((call) => (call.type === 'function' ? [call] : []));
      for (const call of calls) names.set(call.id, call.function.name);
      const parts = calls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.id,
        toolName: call.function.name,
        input: JSON.parse(call.function.arguments) as unknown,
      }));
      return { role: 'assistant', content: parts };
    }
    if (message.role === 'tool') {
      const toolCallId = message.tool_call_id;
      const output = { type: 'text' as const, value: String(message.content) };
      const toolName = names.get(toolCallId) ?? '';
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
    }
    return { role: 'user', content: String(message.content) };
  });
}

async function whole(prompt: Prompt): Promise<SdkResult> {
  const result = await generateText(prompt);
  return {
    id: result.response.id,
    model: result.response.modelId,
    text: result.text,
    finish_reason: result.rawFinishReason ?? null,
    usage: usageOf(result.usage),
    tool_calls: result.toolCalls.map(({ toolName, input }) => [toolName, JSON.stringify(input)]),
  };
}

async function streamed(prompt: Prompt): Promise<SdkResult> {
  const seen = { text: '', tool_arguments: '', finish_reason: null as string | null, usage: null as object | null };
  let failure: SdkResult = {};
  // By default the SDK also logs every error to the console.
  for await (const part of streamText({ ...prompt, onError: () => {} }).fullStream) {
    if (part.type === 'text-delta') seen.text += part.text;
    if (part.type === 'tool-input-delta') seen.tool_arguments += part.delta;
    if (part.type === 'error') failure = described(part.error);
    if (part.type === 'finish') {
      seen.finish_reason = part.finishReason === 'error' ? 'error' : (part.rawFinishReason ?? null);
      seen.usage = usageOf(part.totalUsage);
    }
  }
  return { ...seen, usage: { ...seen.usage }, ...failure };
}

/**
 * Renames the SDK's fields to those of the other libraries. Further fields of the provider, such as
 * the cost, are in `raw`.
 */
function usageOf({ inputTokens, outputTokens, raw }: LanguageModelUsage): Record<string, unknown> {
  return { ...raw, prompt_tokens: inputTokens, completion_tokens: outputTokens };
}

function described(thrown: unknown): SdkResult {
  const error = RetryError.isInstance(thrown) ? thrown.lastError : thrown;
  if (StreamProviderError.isInstance(error)) {
    const { message, type, code, statusCode } = error;
    return {
      error: 'StreamProviderError',
      status: statusCode ?? null,
      code: String(code),
      type: type ?? null,
      message,
    };
  }
  if (!APICallError.isInstance(error)) throw error;
  // Present only if the body matched the SDK's schema of an error.
  const { error: body = {} } = (error.data ?? {}) as { error?: Record<string, string | null> };
  return {
    error: 'APICallError',
    status: error.statusCode ?? null,
    code: body.code ?? null,
    type: body.type ?? null,
    param: body.param ?? null,
    message: error.message,
  };
}
