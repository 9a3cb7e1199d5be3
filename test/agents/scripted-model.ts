import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import { chatUsageOf, costNanoUsd } from '../provider/agent-provider.ts';
import type { Act } from '../provider/call.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import type { Turn } from './agents.ts';

/** Parts of a request that the answer depends on. */
interface Conversation {
  readonly messages: ReadonlyArray<{ readonly role: string }>;
  readonly tools?: readonly object[];
}

/**
 * A model that takes an agent's turns, one for each result of a tool, and then ends. Each answer
 * has a usage of its own. Titles, which agents ask for without tools, are no turns.
 */
export function scriptedModel(turns: readonly Turn[]): Act {
  let requests = 0;
  return (call) => {
    requests++;
    const { messages, tools } = call.seen.json as unknown as Conversation;
    const results = messages.filter(({ role }) => role === 'tool').length;
    const turn = turns[results];
    const usage = chatUsageOf(requests);
    const content = typeof turn === 'object' && tools !== undefined ? callOf(turn, requests) : sayingOf(turn);
    return (call.seen.stream ? streamAnswer : jsonAnswer)({ ...content, usage })(call);
  };
}

function callOf({ tool, input }: Exclude<Turn, string>, request: number) {
  return { toolCalls: [{ id: `call_${request}`, name: tool, arguments: JSON.stringify(input) }] };
}

function sayingOf(turn: Turn | undefined) {
  const text = typeof turn === 'string' ? turn : DEFAULT_TEXT;
  return { text, pieces: [text] };
}

/** Cost of the first `requests` answers, nano-USD. */
export function costOfRequests(requests: number): bigint {
  let sum = 0n;
  for (let request = 1; request <= requests; request++) sum += costNanoUsd(request);
  return sum;
}
