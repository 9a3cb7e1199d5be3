import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import type { Act, SeenRequest } from '../provider/call.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';

/** Parts of a request that the answer depends on. */
interface Conversation {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content?: unknown }>;
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>;
}

/** The tool's result for the city that the provider asks for. */
const WEATHER = '21 degrees and sunny in Kyiv';
const CALL = { id: 'call_kyiv', name: 'weather', arguments: '{"city":"Kyiv"}' };
/** The tool that ends a run of smolagents. */
const FINAL = { id: 'call_final', name: 'final_answer', arguments: JSON.stringify({ answer: DEFAULT_TEXT }) };

const conversationOf = ({ json }: SeenRequest) => json as unknown as Conversation;

export const toolsOf = (seen: SeenRequest): readonly string[] =>
  (conversationOf(seen).tools ?? []).map((tool) => tool.function.name);

/** Role of the message that has the tool's result; `undefined` before there is one. */
export const roleOfWeather = (seen: SeenRequest): string | undefined =>
  conversationOf(seen).messages.find(({ content }) => JSON.stringify(content)?.includes(WEATHER))?.role;

/** Calls the tool when there is one and it was not called yet, else says hello. */
export const weatherProvider: Act = (call) => {
  const tools = toolsOf(call.seen);
  const wanted = roleOfWeather(call.seen) === undefined ? CALL : FINAL;
  const content = tools.includes(wanted.name) ? { toolCalls: [wanted] } : {};
  return (call.seen.stream ? streamAnswer(content) : jsonAnswer(content))(call);
};
