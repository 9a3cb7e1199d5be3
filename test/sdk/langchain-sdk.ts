import { ChatOpenAI } from '@langchain/openai';
import type { SdkCall, SdkClient, SdkResult } from './sdk-client.ts';

/** @langchain/openai as a user writes it: only baseURL and apiKey differ. */
export function langchainClient(baseURL: string, apiKey: string): SdkClient {
  return {
    call: async (call) => {
      const model = new ChatOpenAI({
        model: call.model ?? '',
        apiKey: call.api_key ?? apiKey,
        configuration: { baseURL, defaultHeaders: { ...call.headers } },
        maxRetries: call.max_retries ?? 0,
      }).withConfig({ tools: call.tools ?? [] });
      try {
        return call.stream ? await streamed(model, call) : await whole(model, call);
      } catch (error) {
        return described(error);
      }
    },
    close: async () => {},
  };
}

type Model = ReturnType<ChatOpenAI['withConfig']>;

/** Members of the response that this library keeps without declaring types. */
interface Metadata {
  readonly model_name?: string;
  readonly finish_reason?: string;
  readonly usage?: Readonly<Record<string, unknown>>;
}

async function whole(model: Model, call: SdkCall): Promise<SdkResult> {
  const message = await model.invoke(input(call));
  const { model_name, finish_reason, usage } = message.response_metadata as Metadata;
  return {
    id: message.id ?? '',
    model: model_name ?? '',
    text: message.text,
    finish_reason: finish_reason ?? null,
    usage: usage ?? null,
    tool_calls: (message.tool_calls ?? []).map(({ name, args }) => [name, JSON.stringify(args)]),
  };
}

async function streamed(model: Model, call: SdkCall): Promise<SdkResult> {
  const seen = { text: '', tool_arguments: '', finish_reason: null as string | null, usage: null as object | null };
  try {
    for await (const chunk of await model.stream(input(call))) {
      const { finish_reason, usage } = chunk.response_metadata as Metadata;
      seen.text += chunk.text;
      for (const { args } of chunk.tool_call_chunks ?? []) seen.tool_arguments += args ?? '';
      seen.finish_reason = finish_reason ?? seen.finish_reason;
      if (chunk.usage_metadata) seen.usage = usage ?? null;
    }
  } catch (error) {
    return { ...seen, usage: { ...seen.usage }, ...described(error) };
  }
  return { ...seen, usage: { ...seen.usage } };
}

function input({ messages = [] }: SdkCall): Parameters<Model['invoke']>[0] {
  return messages as Parameters<Model['invoke']>[0];
}

/** LangChain passes on the errors of its own version of the openai package. */
function described(error: unknown): SdkResult {
  if (!(error instanceof Error && 'status' in error && 'code' in error)) throw error;
  const { status, code, type, param } = error as Error & Record<string, string | number | undefined>;
  return {
    error: error.constructor.name,
    status: typeof status === 'number' ? status : null,
    code: code === undefined ? null : String(code),
    type: type === undefined ? null : String(type),
    param: param === undefined ? null : String(param),
    message: error.message,
  };
}
