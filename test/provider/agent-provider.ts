import type { ModelTurn, TurnUsage } from './agent-apis.ts';

/** Turns of an agent's loop. The last turn returns the answer. The others think and call a tool. */
export const TURNS = 10;
export const ANSWER = 'All steps are done.';
export const TOOL = 'look';
/** The turn with text before its call, and the turn with two calls. */
const TALKING = 2;
const PARALLEL = 3;

/** Differs in each turn, so that a charge identifies its turn. */
export function usageOf(turn: number): TurnUsage {
  return { prompt: 1_000 + 137 * turn, cached: 101 * turn, completion: 300 + turn };
}

/** USD per million tokens. A token costs a fraction of a nano-dollar, so rounding shows. */
export const PRICES = { input: 1.2345, cached_input: 0.12345, output: 9.8765 };
/** The same prices in pico-dollars per token. */
const PICO_USD = { input: 1_234_500n, cached: 123_450n, output: 9_876_500n };

/** Cost of a turn with `usageOf`, at `PRICES`, rounded up. */
export function costNanoUsd(turn: number): bigint {
  const { prompt, cached, completion } = usageOf(turn);
  const input = BigInt(prompt - cached) * PICO_USD.input + BigInt(cached) * PICO_USD.cached;
  return (input + BigInt(completion) * PICO_USD.output + 999n) / 1_000n;
}

function callsOf(turn: number) {
  const calls = turn === PARALLEL ? ['a', 'b'] : ['a'];
  return calls.map((call) => ({ id: `call_${turn}${call}`, name: TOOL, input: { step: turn, note: `"é" / ${call}` } }));
}

export const reasoningOf = (turn: number): string => `c2VjcmV0LX${'A'.repeat(900)}${turn}==`;

/** The model's output in a turn of the loop. */
export function turnOf(turn: number): ModelTurn {
  const usage = usageOf(turn);
  if (turn === TURNS) return { text: ANSWER, usage };
  const said = turn === TALKING ? { text: 'I look.' } : {};
  return { reasoning: reasoningOf(turn), ...said, calls: callsOf(turn), usage };
}

/** Parts that the request of a turn must contain, as `partsIn` names them. */
export function expectedIn(turn: number): readonly string[] {
  const parts = ['message user'];
  for (let past = 1; past < turn; past++) {
    parts.push(`reasoning ${reasoningOf(past)}`);
    if (past === TALKING) parts.push('message assistant');
    const calls = callsOf(past).map(({ id }) => id);
    parts.push(...calls.map((id) => `call ${id}`), ...calls.map((id) => `result ${id}`));
  }
  return parts;
}
