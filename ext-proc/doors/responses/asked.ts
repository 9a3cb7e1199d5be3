import { isObject, type JsonObject } from '#core/json-object.ts';
import { isGiven } from '../given-members.ts';

/** What the response to a request repeats of it, or depends on. All of it is data. */
export interface AskedResponse {
  /** Members of the response. */
  readonly repeated: JsonObject;
  /** The client asked for reasoning that it can send back. */
  readonly wantsReasoning: boolean;
  /** Namespace and name of called tools by their name in chat. */
  readonly namespaces: Readonly<Record<string, readonly [namespace: string, name: string]>>;
}

/** A longer one is not repeated: a response and three events of its stream would have it again. */
const LONGEST_REPEATED = 4096;

/** Members of a response with their value where the request does not say. */
const REPEATED: Readonly<Record<string, unknown>> = {
  ...{ instructions: null, max_output_tokens: null, max_tool_calls: null, metadata: {}, parallel_tool_calls: true },
  ...{ prompt_cache_key: null, reasoning: { effort: null, summary: null }, safety_identifier: null, temperature: null },
  ...{ text: { format: { type: 'text' } }, tool_choice: 'auto', tools: [], top_logprobs: null, top_p: null },
  ...{ truncation: 'disabled', user: null },
};

/** Members that say what is always so. */
const ALWAYS = { background: false, previous_response_id: null, store: false };

export function askedOf(body: JsonObject, more: Omit<AskedResponse, 'repeated'>): AskedResponse {
  const repeated: JsonObject = { ...ALWAYS, ...REPEATED };
  for (const name in REPEATED) {
    if (!isGiven(body[name])) continue;
    const text = JSON.stringify(body[name]);
    // Numbers of the body may be as they were written, which no thread can hand over.
    if (text.length <= LONGEST_REPEATED) repeated[name] = JSON.parse(text);
  }
  return { ...more, repeated };
}

/** As it came back from a thread. */
export function readAsked({ repeated, wantsReasoning, namespaces }: JsonObject): AskedResponse {
  return {
    repeated: isObject(repeated) ? repeated : {},
    wantsReasoning: wantsReasoning === true,
    namespaces: isObject(namespaces) ? (namespaces as AskedResponse['namespaces']) : {},
  };
}
