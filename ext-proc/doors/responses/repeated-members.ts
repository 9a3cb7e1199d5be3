import type { JsonObject } from '#core/json-object.ts';
import { isGiven } from '../given-members.ts';

/** Longer members are not repeated: the response and three events of a stream would have them. */
const LONGEST_REPEATED = 4096;

/** Members of the request that a response repeats, with their defaults. */
const REPEATED: Readonly<Record<string, unknown>> = {
  ...{ instructions: null, max_output_tokens: null, max_tool_calls: null, metadata: {}, parallel_tool_calls: true },
  ...{ prompt_cache_key: null, reasoning: { effort: null, summary: null }, safety_identifier: null, temperature: null },
  ...{ text: { format: { type: 'text' } }, tool_choice: 'auto', tools: [], top_logprobs: null, top_p: null },
  ...{ truncation: 'disabled', user: null },
};

/** Members that always have the same value. */
const ALWAYS = { background: false, previous_response_id: null, store: false };

/** Members of the request that its response repeats. */
export function repeatedMembers(body: JsonObject): JsonObject {
  const repeated: JsonObject = { ...ALWAYS, ...REPEATED };
  for (const name in REPEATED) {
    if (!isGiven(body[name])) continue;
    const text = JSON.stringify(body[name]);
    // Parsed again, because exact numbers (`JSON.rawJSON`) cannot be sent between threads.
    if (text.length <= LONGEST_REPEATED) repeated[name] = JSON.parse(text);
  }
  return repeated;
}
