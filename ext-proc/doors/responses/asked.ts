import { isObject, type JsonObject } from '#core/json-object.ts';
import { isGiven } from '../given-members.ts';

/** What the response repeats of the request, or depends on. It can be sent to a thread. */
export interface AskedResponse {
  /** Members of the response. */
  readonly repeated: JsonObject;
  /** True if the client asked for reasoning that it can send back. */
  readonly wantsReasoning: boolean;
  /** Namespace and name of called tools by their name in chat. */
  readonly namespaces: Readonly<Record<string, readonly [namespace: string, name: string]>>;
}

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

export function askedOf(body: JsonObject, more: Omit<AskedResponse, 'repeated'>): AskedResponse {
  const repeated: JsonObject = { ...ALWAYS, ...REPEATED };
  for (const name in REPEATED) {
    if (!isGiven(body[name])) continue;
    const text = JSON.stringify(body[name]);
    // Parsed again, because exact numbers (`JSON.rawJSON`) cannot be sent between threads.
    if (text.length <= LONGEST_REPEATED) repeated[name] = JSON.parse(text);
  }
  return { ...more, repeated };
}

/** Reads what a thread has sent back. */
export function readAsked({ repeated, wantsReasoning, namespaces }: JsonObject): AskedResponse {
  return {
    repeated: isObject(repeated) ? repeated : {},
    wantsReasoning: wantsReasoning === true,
    namespaces: isObject(namespaces) ? (namespaces as AskedResponse['namespaces']) : {},
  };
}
