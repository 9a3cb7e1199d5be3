import { AGENT_APIS, type AgentApi, type ModelTurn } from '../provider/agent-apis.ts';
import { costNanoUsd, reasoningOf, usageOf } from '../provider/agent-provider.ts';
import type { Act } from '../provider/call.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import type { Turn } from './agents.ts';

export interface ScriptedModelOptions {
  /** API that it speaks. Default: chat. */
  readonly over?: AgentApi;
  /** It thinks before each call of a tool. */
  readonly thinks?: boolean;
  /** The turn whose first answer breaks within the call. */
  readonly cutTurn?: number;
}

/**
 * A model that takes an agent's turns, one for each result of a tool, and then ends. Each answer
 * has a usage of its own. Titles, which agents ask for without tools, are no turns.
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

/** Cost of the first `requests` answers, nano-USD. */
export function costOfRequests(requests: number): bigint {
  let sum = 0n;
  for (let request = 1; request <= requests; request++) sum += costNanoUsd(request);
  return sum;
}
