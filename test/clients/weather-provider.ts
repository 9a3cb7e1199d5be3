import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import type { Act, SeenRequest } from '../provider/call.ts';

/** Parts of a request that the answer depends on. */
interface Conversation {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content?: unknown }>;
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>;
}

const TOOL_CALL = { id: 'call_kyiv', name: 'weather', arguments: '{"city":"Kyiv"}' };

export const conversationOf = ({ json }: SeenRequest) => json as unknown as Conversation;

export const toolResults = (seen: SeenRequest): readonly unknown[] =>
  conversationOf(seen)
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

/** Calls the tool when there is one and it was not called yet, else says hello. */
export const weatherProvider: Act = (call) => {
  const { tools = [] } = conversationOf(call.seen);
  const content = tools.length > 0 && toolResults(call.seen).length === 0 ? { toolCalls: [TOOL_CALL] } : {};
  return (call.seen.stream ? streamAnswer(content) : jsonAnswer(content))(call);
};
