import type { Message } from '@anthropic-ai/sdk/resources/messages/messages';
import type { Response } from 'openai/resources/responses/responses';
import { messageWith, text, thinking, toolUse } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { scripted as messageEvents } from '#ext-proc/dialects/anthropic/scripted-stream.fixture.ts';
import { functionCall, message, reasoning, responseWith } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { scripted as responseEvents } from '#ext-proc/dialects/responses/scripted-stream.fixture.ts';
import { reset } from './acts.ts';
import type { Act, SeenRequest } from './call.ts';
import { completionBody, DONE, type ProviderUsage, streamEvents, type ToolCall } from './chat-format.ts';

/** Turns of a loop: the last one answers, all others think and call a tool. */
export const TURNS = 10;
export const ANSWER = 'All steps are done.';
/** The tool and what it returns. */
export const TOOL = 'look';
/** A turn that says something before it calls, and one that makes two calls. */
const TALKING = 2;
const PARALLEL = 3;

export interface TurnUsage {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

/** Different in each turn, so that a charge shows whose it is. */
export function usageOf(turn: number): TurnUsage {
  return { prompt: 1_000 + 137 * turn, cached: 101 * turn, completion: 300 + turn };
}

/** USD for a million tokens, of which a token has a fraction of a nano-dollar. */
export const PRICES = { input: 1.2345, cached_input: 0.12345, output: 9.8765 };
/** The same in pico-dollars a token. */
const PICO_USD = { input: 1_234_500n, cached: 123_450n, output: 9_876_500n };

/** Cost of a turn with `usageOf`, at `PRICES`, rounded up. */
export function costNanoUsd(turn: number): bigint {
  const { prompt, cached, completion } = usageOf(turn);
  const input = BigInt(prompt - cached) * PICO_USD.input + BigInt(cached) * PICO_USD.cached;
  return (input + BigInt(completion) * PICO_USD.output + 999n) / 1_000n;
}

interface TurnCall {
  readonly id: string;
  readonly input: { readonly step: number; readonly note: string };
}

function callsOf(turn: number): readonly TurnCall[] {
  const calls = turn === PARALLEL ? ['a', 'b'] : ['a'];
  return calls.map((call) => ({ id: `call_${turn}${call}`, input: { step: turn, note: `"é" / ${call}` } }));
}

/** Encrypted reasoning, the signature of thinking, or what stands for the text of reasoning. */
export const reasoningOf = (turn: number): string => `c2VjcmV0LX${'A'.repeat(900)}${turn}==`;

/** Parts that the request of a turn must bring, in order, each with what names it. */
export function expectedIn(turn: number): readonly string[] {
  const parts = ['message user'];
  for (let past = 1; past < turn; past++) {
    parts.push(`reasoning ${reasoningOf(past)}`);
    if (past === TALKING) parts.push('message assistant');
    const calls = callsOf(past).map(({ id }) => id);
    parts.push(...calls.map((id) => `call ${id}`), ...calls.map((id) => `result ${id}`));
  }
  return parts;
}

/** A provider's API, as the provider of an agent speaks it. */
export interface AgentApi {
  readonly api: 'chat' | 'responses' | 'anthropic';
  answer(turn: number): Act;
  /** As `answer`, broken within the call of the tool. */
  cut(turn: number): Act;
  /** Parts of the conversation, as `expectedIn` names them. */
  partsIn(seen: SeenRequest): readonly string[];
}

type Events = readonly { readonly type: string }[];

function api(
  name: AgentApi['api'],
  turnOf: (turn: number) => { readonly whole: object; readonly events: Events },
  partsIn: AgentApi['partsIn'],
): AgentApi {
  const eventsText = (events: Events) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  return {
    api: name,
    answer: (turn) => (call) => {
      const { whole, events } = turnOf(turn);
      call.writeHead(200, { 'content-type': call.seen.stream ? 'text/event-stream' : 'application/json' });
      call.end(call.seen.stream ? eventsText(events) : JSON.stringify(whole));
    },
    cut: (turn) => async (call) => {
      const { events } = turnOf(turn);
      call.writeHead(200, { 'content-type': 'text/event-stream' });
      await call.write(eventsText(events.slice(0, -4)));
      await reset(call);
    },
    partsIn,
  };
}

interface InputItem {
  /** Absent: a message. */
  readonly type?: string;
  readonly role?: string;
  readonly encrypted_content?: string;
  readonly call_id?: string;
}

function responseOf(turn: number): Response {
  const { prompt, cached, completion } = usageOf(turn);
  const usage: Response['usage'] = {
    ...{ input_tokens: prompt, output_tokens: completion, total_tokens: prompt + completion },
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 200 },
  };
  if (turn === TURNS) return responseWith([message(ANSWER)], { usage });
  const calls = callsOf(turn).map(({ id, input }) => functionCall(id, TOOL, JSON.stringify(input, null, 1)));
  const said = turn === TALKING ? [message('I look.')] : [];
  return responseWith([reasoning(['A thought.'], reasoningOf(turn)), ...said, ...calls], { usage });
}

function partOfItem({ type = 'message', role, encrypted_content, call_id }: InputItem): string {
  switch (type) {
    case 'reasoning':
      return `reasoning ${encrypted_content}`;
    case 'function_call':
      return `call ${call_id}`;
    case 'function_call_output':
      return `result ${call_id}`;
    default:
      return `${type} ${role}`;
  }
}

function messageOf(turn: number): Message {
  const { prompt, cached, completion } = usageOf(turn);
  const known = messageWith([]).usage;
  const usage = {
    ...known,
    ...{ input_tokens: prompt - cached, cache_read_input_tokens: cached, output_tokens: completion },
    ...{ cache_creation_input_tokens: 0, cache_creation: null },
  };
  if (turn === TURNS) return messageWith([text(ANSWER)], 'end_turn', { usage });
  const calls = callsOf(turn).map(({ id, input }) => toolUse(id, TOOL, input));
  const said = turn === TALKING ? [text('I look.')] : [];
  return messageWith([thinking('A thought.', reasoningOf(turn)), ...said, ...calls], 'tool_use', { usage });
}

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly signature?: string;
}

function partOfBlock(role: string, { type, id, tool_use_id, signature }: Block): string {
  switch (type) {
    case 'thinking':
      return `reasoning ${signature}`;
    case 'tool_use':
      return `call ${id}`;
    case 'tool_result':
      return `result ${tool_use_id}`;
    default:
      return `message ${role}`;
  }
}

interface ChatMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

const chatMessagesOf = ({ json }: SeenRequest) => (json?.messages ?? []) as readonly ChatMessage[];

function partsOfMessage(message: ChatMessage): readonly string[] {
  if (message.role === 'tool') return [`result ${message.tool_call_id}`];
  const { content, reasoning_content: reasoning, tool_calls: calls = [] } = message;
  return [
    ...(reasoning ? [`reasoning ${reasoning}`] : []),
    ...(content ? [`message ${message.role}`] : []),
    ...calls.map(({ id }) => `call ${id}`),
  ];
}

interface ChatTurn {
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly text?: string;
  readonly usage: ProviderUsage;
}

/** `usageOf` a turn in the format of chat completions. */
export function chatUsageOf(turn: number): ProviderUsage {
  const { prompt, cached, completion } = usageOf(turn);
  return {
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: 200 },
  };
}

function chatTurnOf(turn: number): ChatTurn {
  const usage = chatUsageOf(turn);
  if (turn === TURNS) return { text: ANSWER, usage };
  const toolCalls = callsOf(turn).map(({ id, input }) => ({ id, name: TOOL, arguments: JSON.stringify(input) }));
  return { reasoning: reasoningOf(turn), toolCalls, ...(turn === TALKING ? { text: 'I look.' } : {}), usage };
}

function chatEventsOf(turn: number, model: string): readonly string[] {
  const { text, ...said } = chatTurnOf(turn);
  return streamEvents({ model, ...said, ...(text === undefined ? {} : { pieces: [text] }) });
}

/** As DeepSeek: tool calls without the reasoning that made them are refused. */
const CHAT_API: AgentApi = {
  api: 'chat',
  answer: (turn) => (call) => {
    const { seen } = call;
    const lacksReasoning = ({ tool_calls, reasoning_content }: ChatMessage) => tool_calls && !reasoning_content;
    if (chatMessagesOf(seen).some(lacksReasoning)) {
      call.writeHead(400, { 'content-type': 'application/json' });
      const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
      return call.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null } }));
    }
    call.writeHead(200, { 'content-type': seen.stream ? 'text/event-stream' : 'application/json' });
    const events = () => chatEventsOf(turn, seen.model).join('') + DONE;
    call.end(seen.stream ? events() : completionBody({ model: seen.model, ...chatTurnOf(turn) }));
  },
  cut: (turn) => async (call) => {
    call.writeHead(200, { 'content-type': 'text/event-stream' });
    await call.write(chatEventsOf(turn, call.seen.model).slice(0, -3).join(''));
    await reset(call);
  },
  partsIn: (seen) => chatMessagesOf(seen).flatMap(partsOfMessage),
};

export const AGENT_APIS: readonly [AgentApi, ...AgentApi[]] = [
  CHAT_API,
  api(
    'responses',
    (turn) => ({ whole: responseOf(turn), events: responseEvents(responseOf(turn)) }),
    ({ json }) => ((json?.input ?? []) as readonly InputItem[]).map(partOfItem),
  ),
  api(
    'anthropic',
    (turn) => ({ whole: messageOf(turn), events: messageEvents(messageOf(turn)) }),
    ({ json }) =>
      ((json?.messages ?? []) as readonly { readonly role: string; readonly content: readonly Block[] }[]).flatMap(
        ({ role, content }) => content.map((block) => partOfBlock(role, block)),
      ),
  ),
];
