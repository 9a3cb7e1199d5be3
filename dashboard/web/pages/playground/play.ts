import { GATEWAY_STATUS, type PlayInput } from '#contract/playground.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { ApiProblem, problemFrom } from '../../api/api.ts';

/** Ids of the request in the log. A refused request has no generation. */
export interface PlayIds {
  readonly requestId: string | undefined;
  readonly generationId: string | undefined;
}

export interface PlayUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The charged amount. */
  readonly costUsd: number;
}

export interface PlayFailure {
  /** Absent for an error within a stream. */
  readonly status?: number;
  readonly code?: string;
  readonly message: string;
  readonly metadata: JsonObject;
}

export type PlayEvent =
  | { readonly kind: 'begun'; readonly ids: PlayIds }
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  /** A piece of a tool call. */
  | {
      readonly kind: 'call';
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly text: string;
    }
  | { readonly kind: 'usage'; readonly usage: PlayUsage }
  | { readonly kind: 'failed'; readonly failure: PlayFailure }
  | { readonly kind: 'complete' };

/**
 * Sends a completion through the dashboard's server and reads the response as it arrives. Rejects
 * with an ApiProblem if that server refuses, and with an AbortError when `signal` aborts.
 */
export async function* play(organization: string, input: PlayInput, signal: AbortSignal): AsyncGenerator<PlayEvent> {
  const response = await send(organization, input, signal);
  const status = Number(response.headers.get(GATEWAY_STATUS) ?? '0');
  if (!response.ok || status === 0) throw problemFrom(response.status, parseObject(await response.text()));
  const { headers } = response;
  const ids = {
    requestId: headers.get('x-request-id') ?? undefined,
    generationId: headers.get('x-generation-id') ?? undefined,
  };
  yield { kind: 'begun', ids };
  if (status !== 200 || response.body === null) {
    yield { kind: 'failed', failure: { ...failureOf(parseObject(await response.text())?.error), status } };
    return;
  }
  for await (const data of eventsOf(response.body)) yield* eventsIn(data);
}

async function send(organization: string, input: PlayInput, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`/api/organizations/${encodeURIComponent(organization)}/playground`, {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiProblem({ problem: 'unreachable', message: 'The dashboard server cannot be reached.' });
  }
}

/** Interprets one event of the stream. Unknown members are skipped. */
export function eventsIn(data: string): PlayEvent[] {
  if (data === '[DONE]') return [{ kind: 'complete' }];
  const chunk = parseObject(data);
  if (chunk === undefined) return [];
  if (isObject(chunk.error)) return [{ kind: 'failed', failure: failureOf(chunk.error) }];
  const [choice] = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
  const delta = isObject(choice) && isObject(choice.delta) ? choice.delta : {};
  return [
    ...textEvent('reasoning', delta.reasoning_content),
    ...textEvent('text', delta.content),
    ...textEvent('text', delta.refusal),
    ...(Array.isArray(delta.tool_calls) ? (delta.tool_calls as unknown[]).flatMap(callEvent) : []),
    ...(isObject(chunk.usage) ? [{ kind: 'usage', usage: usageOf(chunk.usage) } as const] : []),
  ];
}

function textEvent(kind: 'text' | 'reasoning', text: unknown): PlayEvent[] {
  return typeof text === 'string' && text !== '' ? [{ kind, text }] : [];
}

function callEvent(call: unknown): PlayEvent[] {
  if (!isObject(call) || !isObject(call.function)) return [];
  const { index, id } = call;
  const { name, arguments: text } = call.function;
  return [{ kind: 'call', index: Number(index) || 0, id: textOf(id), name: textOf(name), text: textOf(text) }];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function usageOf({ prompt_tokens, completion_tokens, cost }: JsonObject): PlayUsage {
  return { promptTokens: Number(prompt_tokens), completionTokens: Number(completion_tokens), costUsd: Number(cost) };
}

function failureOf(error: unknown): PlayFailure {
  const { code, message, metadata } = isObject(error) ? error : {};
  return {
    ...(typeof code === 'string' ? { code } : {}),
    message: typeof message === 'string' ? message : 'The gateway sent a response that cannot be read.',
    metadata: isObject(metadata) ? metadata : {},
  };
}

/** The data of each event of a stream. Comments, such as heartbeats, are skipped. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = `${rest}${value}`.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = dataOf(event);
        if (data !== undefined) yield data;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function dataOf(event: string): string | undefined {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(5).trimStart()).join('\n');
}
