import { jsonAnswer, raw, streamAnswer, streamThen } from '../provider/acts.ts';
import type { Act, SeenRequest } from '../provider/call.ts';
import { chunkBody, DONE, sse } from '../provider/chat-format.ts';
import { dspyAnswer } from './dspy-answer.ts';

/** The parts of a request on which the response depends. */
interface Conversation {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content?: unknown }>;
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>;
  readonly response_format?: { readonly type: string };
}

/** The tool's result for the provider's city. */
const WEATHER = '21 degrees and sunny in Kyiv';
const CITY = '{"city":"Kyiv"}';
/** Tools with which smolagents ends a run and instructor gets a response, with their arguments. */
const GREETINGS: Readonly<Record<string, readonly string[]>> = {
  final_answer: ['{"answer":"Hello from', ' the provider."}'],
  Greeting: ['{"text":"Hello from', ' the provider."}'],
  PartialGreeting: ['{"text":"Hello from', ' the provider."}'],
};

const conversationOf = ({ json }: SeenRequest) => json as unknown as Conversation;

export const toolsOf = (seen: SeenRequest): readonly string[] =>
  (conversationOf(seen).tools ?? []).map((tool) => tool.function.name);

/** Role of the message with the tool's result. `undefined` if there is none yet. */
export const roleOfWeather = (seen: SeenRequest): string | undefined =>
  conversationOf(seen).messages.findLast(({ content }) => JSON.stringify(content)?.includes(WEATHER))?.role;

/** Calls the tool if there is one without a result yet, otherwise says hello. */
export const weatherProvider: Act = (call) => {
  const { messages, response_format } = conversationOf(call.seen);
  const tools = toolsOf(call.seen);
  const isKnown = roleOfWeather(call.seen) !== undefined;
  const weather = tools.find((name) => name.endsWith('weather'));
  if (weather !== undefined && !isKnown) return callTool(weather, [CITY])(call);
  for (const name of tools) if (GREETINGS[name]) return callTool(name, GREETINGS[name])(call);
  const text = response_format?.type === 'json_schema' ? CITY : dspyAnswer(String(messages.at(-1)?.content), isKnown);
  const pieces = text?.match(/.{1,9}/gs);
  return (call.seen.stream ? streamAnswer(pieces ? { pieces } : {}) : jsonAnswer(text ? { text } : {}))(call);
};

/** Calls a tool, and streams its arguments in these pieces. */
function callTool(name: string, pieces: readonly string[]): Act {
  const content = { toolCalls: [{ id: `call_${name}`, name, arguments: pieces.join('') }] };
  return (call) => {
    if (!call.seen.stream) return jsonAnswer(content)(call);
    const { model } = call.seen;
    const chunks = [
      ...pieces.map((text) =>
        chunkBody({ model, delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }),
      ),
      chunkBody({ model, finishReason: 'tool_calls' }),
    ];
    // The first two events are the role and the head of the call.
    return streamThen(2, raw(`${chunks.map(sse).join('')}${DONE}`), content)(call);
  };
}
