import type { Message } from './answers.ts';

/** Fields of a chat request that the demo model reads. */
export interface DemoRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly maxTokens: number;
}

/** `undefined`: not a chat request. */
export function readDemoRequest(body: string): DemoRequest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !Array.isArray(value.messages)) return undefined;
  const limit = value.max_tokens ?? value.max_completion_tokens;
  const streamOptions = value.stream_options;
  return {
    model: typeof value.model === 'string' ? value.model : '',
    messages: value.messages.filter(isObject).map((message) => ({
      role: String(message.role),
      text: textOf(message.content),
    })),
    stream: value.stream === true,
    includeUsage: isObject(streamOptions) && streamOptions.include_usage === true,
    maxTokens: typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY,
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .filter(isObject)
    .map((part) => (typeof part.text === 'string' ? part.text : ''))
    .join(' ');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
