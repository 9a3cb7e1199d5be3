import { AGENT_APIS, type AgentApi, type ModelTurn } from '../provider/agent-apis.ts';
import { costNanoUsd, reasoningOf, usageOf } from '../provider/agent-provider.ts';
import type { Act } from '../provider/call.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import type { Turn } from './agents.ts';

export interface ScriptedModelOptions {
  /** API of the model. Default: chat completions. */
  readonly over?: AgentApi;
  /** True if it thinks before each tool call. */
  readonly thinks?: boolean;
  /** The turn whose first response is cut within the tool call. */
  readonly cutTurn?: number;
}

/**
 * A model that plays an agent's turns, one for each tool result, and then ends. Each response has a
 * different usage. Requests for titles, which have no tools, do not count as turns.
 */
export function scriptedModel(turns: readonly Turn[], options: ScriptedModelOptions = {}): Act {
  const { over = AGENT_APIS[0], thinks = false, cutTurn } = options;
  let requests = 0;
  let hasCut = false;
  return (call) => {
    requests++;
    const parts = over.partsIn(call.seen);
    const results = parts.filter((part) => part.startsWith('result ')).length;
    const hasTools = call.seen.json?.tools !== undefined || parts.includes('additional_tools developer');
    const turn = turns[results];
    const usage = usageOf(requests);
    if (typeof turn !== 'object' || !hasTools)
      return over.answer({ text: typeof turn === 'string' ? turn : DEFAULT_TEXT, usage })(call);
    const { tool: name, ...called } = turn;
    const said: ModelTurn = {
      ...(thinks ? { reasoning: reasoningOf(results + 1) } : {}),
      calls: [{ id: `call_${requests}`, name, ...called }],
      usage,
    };
    if (results + 1 !== cutTurn || hasCut) return over.answer(said)(call);
    hasCut = true;
    return over.cut(said)(call);
  };
}

/** Cost of the first `requests` responses in nano-USD. */
export function costOfRequests(requests: number): bigint {
  let sum = 0n;
  for (let request = 1; request <= requests; request++) sum += costNanoUsd(request);
  return sum;
}
