/**
 * OpenAI-compatible bodies as a provider sends them: what a test does not care about has a plain
 * default.
 */
export interface ProviderUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface CompletionContent {
  readonly model: string;
  readonly text?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason?: string;
  /** `null`: the provider sends none. */
  readonly usage?: ProviderUsage | null;
  readonly id?: string;
}

const PROVIDER_ID = 'chatcmpl-provider-1';
const PROVIDER_CREATED = 1_780_000_000;
export const DEFAULT_TEXT = 'Hello from the provider.';
const DEFAULT_USAGE: ProviderUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export function completionBody(content: CompletionContent): string {
  const toolCalls = content.toolCalls?.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
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
          content: toolCalls ? null : (content.text ?? DEFAULT_TEXT),
          ...(toolCalls ? { tool_calls: toolCalls } : {}),
        },
        finish_reason: content.finishReason ?? (toolCalls ? 'tool_calls' : 'stop'),
      },
    ],
    ...(content.usage === null ? {} : { usage: content.usage ?? DEFAULT_USAGE }),
    system_fingerprint: 'fp_fake',
  });
}

export interface Chunk {
  readonly model: string;
  readonly delta?: Readonly<Record<string, unknown>>;
  readonly finishReason?: string;
  /** Present: the usage chunk, which has no choices. */
  readonly usage?: ProviderUsage;
}

export function chunkBody(chunk: Chunk): string {
  return JSON.stringify({
    id: PROVIDER_ID,
    object: 'chat.completion.chunk',
    created: PROVIDER_CREATED,
    model: chunk.model,
    choices: chunk.usage ? [] : [{ index: 0, delta: chunk.delta ?? {}, finish_reason: chunk.finishReason ?? null }],
    ...(chunk.usage ? { usage: chunk.usage } : {}),
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
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason?: string;
  readonly usage?: ProviderUsage | null;
}

/** The events of a whole healthy stream without its `[DONE]`: role, pieces, finish, usage. */
export function streamEvents(content: StreamContent): string[] {
  const { model } = content;
  const events = [chunkBody({ model, delta: { role: 'assistant', content: '' } })];
  for (const piece of content.pieces ?? (content.toolCalls ? [] : ['Hello', ' from', ' the', ' provider.'])) {
    events.push(chunkBody({ model, delta: { content: piece } }));
  }
  content.toolCalls?.forEach((call, index) => {
    const head = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
    events.push(chunkBody({ model, delta: { tool_calls: [head] } }));
    events.push(chunkBody({ model, delta: { tool_calls: [{ index, function: { arguments: call.arguments } }] } }));
  });
  events.push(chunkBody({ model, finishReason: content.finishReason ?? (content.toolCalls ? 'tool_calls' : 'stop') }));
  if (content.usage !== null) events.push(chunkBody({ model, usage: content.usage ?? DEFAULT_USAGE }));
  return events.map(sse);
}
