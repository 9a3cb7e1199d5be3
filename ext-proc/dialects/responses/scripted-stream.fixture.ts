import type {
  Response,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { translatedBy } from '../dialect-checks.fixture.ts';
import { RESPONSES } from './responses.ts';

/** Cuts a text into its deltas. */
export type Cut = (text: string) => readonly string[];

export const WORDS: Cut = (text) => text.match(/\s*\S+|\s+/g) ?? [];

type Unnumbered = ResponseStreamEvent extends infer Event
  ? Event extends ResponseStreamEvent
    ? Omit<Event, 'sequence_number'> & { readonly obfuscation?: string }
    : never
  : never;

/**
 * The events in which OpenAI sends a response: calls that follow each other come with their
 * arguments interleaved. The types are the official ones.
 */
export function scripted(response: Response, cut: Cut = WORDS): ResponseStreamEvent[] {
  const events: Unnumbered[] = [];
  const begun: Response = { ...response, status: 'in_progress', output: [], service_tier: 'auto', error: null };
  delete begun.usage;
  events.push({ type: 'response.created', response: begun }, { type: 'response.in_progress', response: begun });
  for (let index = 0; index < response.output.length; ) {
    const calls = callsFrom(response.output, index);
    if (calls.length > 0) events.push(...interleaved(calls, index, cut));
    else events.push(...itemEvents(response.output[index] as ResponseOutputItem, index, cut));
    index += Math.max(calls.length, 1);
  }
  const status = response.status === 'failed' || response.status === 'incomplete' ? response.status : 'completed';
  events.push({ type: `response.${status}`, response });
  return events.map((event, number) => ({ ...event, sequence_number: number }) as ResponseStreamEvent);
}

const added = (output_index: number, item: ResponseOutputItem): Unnumbered => ({
  ...{ type: 'response.output_item.added', output_index, item },
});
const done = (output_index: number, item: ResponseOutputItem): Unnumbered => ({
  ...{ type: 'response.output_item.done', output_index, item },
});

function callsFrom(output: readonly ResponseOutputItem[], start: number): ResponseOutputItem[] {
  const end = output.findIndex((item, at) => at >= start && !item.type.endsWith('_call'));
  return output.slice(start, end === -1 ? undefined : end);
}

function itemEvents(item: ResponseOutputItem, index: number, cut: Cut): Unnumbered[] {
  if (item.type === 'message') return messageEvents(item, index, cut);
  return item.type === 'reasoning' ? reasoningEvents(item, index, cut) : [];
}

function messageEvents(item: ResponseOutputMessage, index: number, cut: Cut): Unnumbered[] {
  const at = { item_id: item.id, output_index: index };
  const events = [added(index, { ...item, status: 'in_progress', content: [] })];
  for (const [part, content] of item.content.entries()) {
    const here = { ...at, content_index: part };
    if (content.type === 'refusal') {
      const part = { type: 'refusal', refusal: '' } as const;
      events.push({ type: 'response.content_part.added', ...here, part });
      for (const delta of cut(content.refusal)) events.push({ type: 'response.refusal.delta', ...here, delta });
      events.push({ type: 'response.refusal.done', ...here, refusal: content.refusal });
    } else {
      const { text } = content;
      const logprobs = (content.logprobs ?? []).map(({ bytes: _, ...known }) => known);
      events.push({
        type: 'response.content_part.added',
        ...here,
        part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
      });
      for (const delta of cut(text)) {
        events.push({ type: 'response.output_text.delta', ...here, delta, logprobs, obfuscation: 'aB3' });
      }
      events.push({ type: 'response.output_text.done', ...here, text, logprobs });
    }
    events.push({ type: 'response.content_part.done', ...here, part: content });
  }
  return [...events, done(index, item)];
}

function reasoningEvents(item: ResponseReasoningItem, index: number, cut: Cut): Unnumbered[] {
  const at = { item_id: item.id, output_index: index };
  const begun = { ...item, summary: [], encrypted_content: 'gAAAAAB-incomplete' };
  const events = [added(index, begun)];
  for (const [part, { text }] of item.summary.entries()) {
    const here = { ...at, summary_index: part };
    const empty = { type: 'summary_text', text: '' } as const;
    events.push({ type: 'response.reasoning_summary_part.added', ...here, part: empty });
    for (const delta of cut(text)) events.push({ type: 'response.reasoning_summary_text.delta', ...here, delta });
    events.push({ type: 'response.reasoning_summary_text.done', ...here, text });
    events.push({ type: 'response.reasoning_summary_part.done', ...here, part: { ...empty, text } });
  }
  for (const [part, { text }] of (item.content ?? []).entries()) {
    const here = { ...at, content_index: part };
    for (const delta of cut(text)) events.push({ type: 'response.reasoning_text.delta', ...here, delta });
    events.push({ type: 'response.reasoning_text.done', ...here, text });
  }
  return [...events, done(index, item)];
}

function interleaved(calls: readonly ResponseOutputItem[], first: number, cut: Cut): Unnumbered[] {
  const scripts = calls.map((item, at) => callEvents(item, first + at, cut));
  const events = scripts.flatMap(([added]) => (added === undefined ? [] : [added]));
  for (let step = 1; scripts.some((script) => script.length > step); step++) {
    events.push(...scripts.flatMap((script) => script.slice(step, step + 1)));
  }
  return events;
}

function callEvents(item: ResponseOutputItem, index: number, cut: Cut): Unnumbered[] {
  const at = { item_id: item.id ?? '', output_index: index };
  if (item.type === 'function_call') {
    return [
      added(index, { ...item, status: 'in_progress', arguments: '' }),
      ...cut(item.arguments).map(
        (delta): Unnumbered => ({ type: 'response.function_call_arguments.delta', ...at, delta, obfuscation: 'x' }),
      ),
      { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments },
      done(index, item),
    ];
  }
  if (item.type !== 'custom_tool_call') return [];
  return [
    added(index, { ...item, input: '' }),
    ...cut(item.input).map((delta): Unnumbered => ({ type: 'response.custom_tool_call_input.delta', ...at, delta })),
    { type: 'response.custom_tool_call_input.done', ...at, input: item.input },
    done(index, item),
  ];
}

/** Data of the chat events for these events. `named`: with the event's type as its SSE name. */
export const translated = (events: readonly object[], named?: boolean) => translatedBy(RESPONSES, events, named);
