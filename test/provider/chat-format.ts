/**
 * OpenAI-compatible bodies as a provider sends them. Members that a test leaves out have plain
 * defaults.
 */
export interface ProviderUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number; readonly cache_write_tokens?: number };
  readonly cache_creation?: { readonly ephemeral_1h_input_tokens: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

export interface ToolCall {
  readonly id: string;
  /** Default: a function. `arguments` of a custom tool may be any text. */
  readonly type?: 'custom';
  readonly name: string;
  readonly arguments: string;
  /** Gemini's signature of the thoughts before the call. */
  readonly signature?: string;
}

export interface CompletionContent {
  readonly model: string;
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason?: string;
  /** `null` omits the usage. */
  readonly usage?: ProviderUsage | null;
  readonly id?: string;
  readonly serviceTier?: string;
}

const PROVIDER_ID = 'chatcmpl-provider-1';
const PROVIDER_CREATED = 1_780_000_000;
export const DEFAULT_TEXT = 'Hello from the provider.';
const DEFAULT_USAGE: ProviderUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export function completionBody(content: CompletionContent): string {
  const toolCalls = content.toolCalls?.map((call) => ({ id: call.id, ...calledWith(call, call.arguments) }));
  return JSON.stringify({
    id: content.id ?? PROVIDER_ID,
    object: 'chat.completion',
    created: PROVIDER_CREATED,
    model: content.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content.text ?? (toolCalls ? null : DEFAULT_TEXT),
          ...(content.reasoning === undefined ? {} : { reasoning_content: content.reasoning }),
          ...(toolCalls ? { tool_calls: toolCalls } : {}),
        },
        finish_reason: content.finishReason ?? (toolCalls ? 'tool_calls' : 'stop'),
      },
    ],
    ...(content.usage === null ? {} : { usage: content.usage ?? DEFAULT_USAGE }),
    ...(content.serviceTier === undefined ? {} : { service_tier: content.serviceTier }),
    system_fingerprint: 'fp_fake',
  });
}

function calledWith({ name, type, signature }: ToolCall, text: string) {
  if (type === 'custom') return { type, custom: { name, input: text } };
  const signed = signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } };
  return { type: 'function', function: { name, arguments: text }, ...signed };
}

export interface Chunk {
  readonly model: string;
  readonly delta?: Readonly<Record<string, unknown>>;
  readonly finishReason?: string;
  /** Makes the chunk the usage chunk, which has no choices. */
  readonly usage?: ProviderUsage;
  readonly serviceTier?: string | undefined;
}

export function chunkBody(chunk: Chunk): string {
  return JSON.stringify({
    id: PROVIDER_ID,
    object: 'chat.completion.chunk',
    created: PROVIDER_CREATED,
    model: chunk.model,
    choices: chunk.usage ? [] : [{ index: 0, delta: chunk.delta ?? {}, finish_reason: chunk.finishReason ?? null }],
    ...(chunk.usage ? { usage: chunk.usage } : {}),
    ...(chunk.serviceTier === undefined ? {} : { service_tier: chunk.serviceTier }),
  });
}

export function sse(data: string): string {
  return `data: ${data}\n\n`;
}

export const DONE = sse('[DONE]');

export interface StreamContent {
  readonly model: string;
  /** One content event per piece. */
  readonly pieces?: readonly string[];
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason?: string;
  readonly usage?: ProviderUsage | null;
  readonly serviceTier?: string;
}

/** The events of a complete, healthy stream except `[DONE]`: role, pieces, finish, usage. */
export function streamEvents(content: StreamContent): string[] {
  const { model, serviceTier } = content;
  const events = [chunkBody({ model, serviceTier, delta: { role: 'assistant', content: '' } })];
  for (const piece of content.reasoning?.match(/.{1,100}/gs) ?? [])
    events.push(chunkBody({ model, delta: { content: null, reasoning_content: piece } }));
  for (const piece of content.pieces ?? (content.toolCalls ? [] : ['Hello', ' from', ' the', ' provider.'])) {
    events.push(chunkBody({ model, delta: { content: piece } }));
  }
  content.toolCalls?.forEach((call, index) => {
    const head = { index, id: call.id, ...calledWith(call, '') };
    const { type, arguments: text } = call;
    const given = type === 'custom' ? { custom: { input: text } } : { function: { arguments: text } };
    events.push(chunkBody({ model, delta: { tool_calls: [head] } }));
    events.push(chunkBody({ model, delta: { tool_calls: [{ index, ...given }] } }));
  });
  events.push(chunkBody({ model, finishReason: content.finishReason ?? (content.toolCalls ? 'tool_calls' : 'stop') }));
  if (content.usage !== null) events.push(chunkBody({ model, serviceTier, usage: content.usage ?? DEFAULT_USAGE }));
  return events.map(sse);
}
