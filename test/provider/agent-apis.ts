import type { Message } from '@anthropic-ai/sdk/resources/messages/messages';
import type { Response, ResponseOutputItem } from 'openai/resources/responses/responses';
import { present } from '#core/present.ts';
import { messageWith, text, thinking, toolUse } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { scripted as messageEvents } from '#ext-proc/dialects/anthropic/scripted-stream.fixture.ts';
import {
  customCall,
  functionCall,
  message,
  reasoning,
  responseWith,
} from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { scripted as responseEvents } from '#ext-proc/dialects/responses/scripted-stream.fixture.ts';
import { reset } from './acts.ts';
import type { Act, SeenRequest } from './call.ts';
import { completionBody, DONE, type ProviderUsage, streamEvents, type ToolCall } from './chat-format.ts';

export interface TurnUsage {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

/** What a model returns in a turn, independent of the API. */
export interface ModelTurn {
  /** Encrypted reasoning of Responses, a signature of thoughts, or `reasoning_content`. */
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly TurnCall[];
  readonly usage: TurnUsage;
}

export interface TurnCall {
  readonly id: string;
  readonly name: string;
  /** Only in Responses, which has the namespace as a separate field. */
  readonly namespace?: string;
  /** A string for a custom tool. */
  readonly input: object | string;
}

/** A scripted provider's side of one API, for tests of agents. */
export interface AgentApi {
  /** Absent: that of the API. */
  readonly name?: string;
  readonly api: 'chat' | 'responses' | 'anthropic';
  answer(turn: ModelTurn): Act;
  /** Like `answer`, but streamed and reset before the end of the last tool call. */
  cut(turn: ModelTurn): Act;
  /** Parts of the conversation in order, each with its kind and id, such as `result call_1`. */
  partsIn(seen: SeenRequest): readonly string[];
}

type Events = readonly { readonly type: string }[];

function api(
  name: AgentApi['api'],
  said: (turn: ModelTurn) => { readonly whole: object; readonly events: Events },
  partsIn: AgentApi['partsIn'],
): AgentApi {
  const eventsText = (events: Events) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  return {
    api: name,
    answer: (turn) => (call) => {
      const { whole, events } = said(turn);
      call.writeHead(200, { 'content-type': call.seen.stream ? 'text/event-stream' : 'application/json' });
      call.end(call.seen.stream ? eventsText(events) : JSON.stringify(whole));
    },
    cut: (turn) => async (call) => {
      const { events } = said(turn);
      call.writeHead(200, { 'content-type': 'text/event-stream' });
      await call.write(eventsText(events.slice(0, -4)));
      await reset(call);
    },
    partsIn,
  };
}

interface InputItem {
  /** Absent for a message. */
  readonly type?: string;
  readonly role?: string;
  readonly encrypted_content?: string;
  readonly call_id?: string;
}

function responseOf({ reasoning: encrypted, text: words, calls = [], usage }: ModelTurn): Response {
  const { prompt, cached, completion } = usage;
  const output = [
    ...(encrypted === undefined ? [] : [reasoning(['A thought.'], encrypted)]),
    ...(words === undefined ? [] : [message(words)]),
    ...calls.map(({ namespace, ...call }) => Object.assign(itemOf(call), { namespace })),
  ];
  return responseWith(output, {
    usage: {
      ...{ input_tokens: prompt, output_tokens: completion, total_tokens: prompt + completion },
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 200 },
    },
  });
}

function itemOf({ id, name, input }: TurnCall): ResponseOutputItem {
  if (typeof input === 'string') return customCall(id, name, input);
  return functionCall(id, name, JSON.stringify(input, null, 1));
}

function partOfItem({ type = 'message', role, encrypted_content, call_id }: InputItem): string {
  switch (type) {
    case 'reasoning':
      return `reasoning ${encrypted_content}`;
    case 'function_call':
    case 'custom_tool_call':
      return `call ${call_id}`;
    case 'function_call_output':
    case 'custom_tool_call_output':
      return `result ${call_id}`;
    default:
      return `${type} ${role}`;
  }
}

function messageOf({ reasoning: signature, text: words, calls = [], usage }: ModelTurn): Message {
  const { prompt, cached, completion } = usage;
  const content = [
    ...(signature === undefined ? [] : [thinking('A thought.', signature)]),
    ...(words === undefined ? [] : [text(words)]),
    ...calls.map(({ id, name, input }) => toolUse(id, name, input)),
  ];
  return messageWith(content, calls.length === 0 ? 'end_turn' : 'tool_use', {
    usage: {
      ...messageWith([]).usage,
      ...{ input_tokens: prompt - cached, cache_read_input_tokens: cached, output_tokens: completion },
      ...{ cache_creation_input_tokens: 0, cache_creation: null },
    },
  });
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

interface BlockMessage {
  readonly role: string;
  readonly content: string | readonly Block[];
}

function partsOfBlocks({ role, content }: BlockMessage): readonly string[] {
  return typeof content === 'string' ? [`message ${role}`] : content.map((block) => partOfBlock(role, block));
}

interface ChatMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly extra_content?: { readonly google: { readonly thought_signature: string } };
  }[];
  readonly tool_call_id?: string;
}

const chatMessagesOf = ({ json }: SeenRequest) => (json?.messages ?? []) as readonly ChatMessage[];

function reasoningIn({ reasoning_content: reasoning, tool_calls: calls }: ChatMessage): string | undefined {
  return reasoning ?? calls?.[0]?.extra_content?.google.thought_signature;
}

function partsOfMessage(message: ChatMessage): readonly string[] {
  if (message.role === 'tool') return [`result ${message.tool_call_id}`];
  const { content, tool_calls: calls = [] } = message;
  const reasoning = reasoningIn(message);
  return [
    ...(reasoning ? [`reasoning ${reasoning}`] : []),
    ...(content ? [`message ${message.role}`] : []),
    ...calls.map(({ id }) => `call ${id}`),
  ];
}

function chatUsage({ prompt, cached, completion }: TurnUsage): ProviderUsage {
  return {
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: 200 },
  };
}

/** A turn as the content of a chat completion, whole or streamed. */
function chatContent({ calls = [], usage, reasoning, ...said }: ModelTurn, model: string, isSigned: boolean) {
  const toolCalls = calls.map(({ id, name, input }, at): ToolCall => {
    if (typeof input === 'string') return { id, type: 'custom', name, arguments: input };
    // Of parallel calls Gemini signs the first.
    const signature = isSigned && at === 0 ? reasoning : undefined;
    return { id, name, arguments: JSON.stringify(input), ...present({ signature }) };
  });
  const own = {
    reasoning: isSigned ? undefined : reasoning,
    pieces: said.text === undefined ? undefined : [said.text],
  };
  return { model, ...said, ...present(own), ...(calls.length > 0 ? { toolCalls } : {}), usage: chatUsage(usage) };
}

/**
 * Like DeepSeek, a thinking model refuses assistant tool calls without their `reasoning_content`,
 * or like Gemini those without their signature.
 */
const chatApi = (isSigned: boolean): AgentApi => ({
  ...{ api: 'chat', ...(isSigned ? { name: 'signed-chat' } : {}) },
  answer: (turn) => (call) => {
    const { seen } = call;
    const lacksReasoning = (message: ChatMessage) => message.tool_calls && !reasoningIn(message);
    if (turn.reasoning !== undefined && chatMessagesOf(seen).some(lacksReasoning)) {
      call.writeHead(400, { 'content-type': 'application/json' });
      const message = isSigned
        ? 'Function call is missing a thought_signature in functionCall parts.'
        : 'The `reasoning_content` in the thinking mode must be passed back to the API.';
      return call.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null } }));
    }
    const content = chatContent(turn, seen.model, isSigned);
    call.writeHead(200, { 'content-type': seen.stream ? 'text/event-stream' : 'application/json' });
    call.end(seen.stream ? streamEvents(content).join('') + DONE : completionBody(content));
  },
  cut: (turn) => async (call) => {
    call.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = streamEvents(chatContent(turn, call.seen.model, isSigned));
    await call.write(events.slice(0, -3).join(''));
    await reset(call);
  },
  partsIn: (seen) => chatMessagesOf(seen).flatMap(partsOfMessage),
});

/** Chat completions of a model that signs its thoughts in its calls. */
export const SIGNED_CHAT = chatApi(true);

export const AGENT_APIS: readonly [AgentApi, ...AgentApi[]] = [
  chatApi(false),
  api(
    'responses',
    (turn) => {
      const whole = responseOf(turn);
      return { whole, events: responseEvents(whole) };
    },
    ({ json }) => ((json?.input ?? []) as readonly InputItem[]).map(partOfItem),
  ),
  api(
    'anthropic',
    (turn) => {
      const whole = messageOf(turn);
      return { whole, events: messageEvents(whole) };
    },
    ({ json }) => ((json?.messages ?? []) as readonly BlockMessage[]).flatMap(partsOfBlocks),
  ),
];
