import OpenAI, { APIError } from 'openai';
import type { SdkCall, SdkClient, SdkResult } from './sdk-client.ts';

/** The openai package as a user writes it: only baseURL and apiKey differ. */
export function nodeClient(baseURL: string, apiKey: string): SdkClient {
  return {
    call: async ({ api_key, max_retries, headers, list_models, ...body }) => {
      const client = new OpenAI({
        baseURL,
        apiKey: api_key ?? apiKey,
        maxRetries: max_retries ?? 0,
        defaultHeaders: { ...headers },
      });
      try {
        if (list_models) return { models: (await client.models.list()).data.map(({ id }) => id) };
        return body.stream ? await streamed(client, body) : await whole(client, body);
      } catch (error) {
        return described(error);
      }
    },
    close: async () => {},
  };
}

async function whole(client: OpenAI, body: Omit<SdkCall, 'api_key'>): Promise<SdkResult> {
  const completion = await client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming);
  const choice = completion.choices[0];
  const calls = choice?.message.tool_calls ?? [];
  return {
    id: completion.id,
    model: completion.model,
    text: choice?.message.content ?? null,
    finish_reason: choice?.finish_reason ?? null,
    usage: { ...completion.usage },
    tool_calls: calls.map((call) =>
      call.type === 'function' ? [call.function.name, call.function.arguments] : ['', ''],
    ),
  };
}

async function streamed(client: OpenAI, body: Omit<SdkCall, 'api_key'>): Promise<SdkResult> {
  const seen = { text: '', tool_arguments: '', finish_reason: null as string | null, usage: null as object | null };
  try {
    const stream = await client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsStreaming);
    for await (const chunk of stream) {
      if (chunk.usage) seen.usage = chunk.usage;
      for (const { delta, finish_reason } of chunk.choices) {
        seen.text += delta.content ?? '';
        for (const call of delta.tool_calls ?? []) seen.tool_arguments += call.function?.arguments ?? '';
        seen.finish_reason = finish_reason ?? seen.finish_reason;
      }
    }
  } catch (error) {
    return { ...seen, usage: { ...seen.usage }, ...described(error) };
  }
  return { ...seen, usage: { ...seen.usage } };
}

function described(error: unknown): SdkResult {
  if (!(error instanceof APIError)) throw error;
  return {
    error: error.constructor.name,
    status: error.status ?? null,
    code: error.code ?? null,
    type: error.type ?? null,
    param: error.param ?? null,
    message: error.message,
  };
}
