import { isObject, type JsonObject } from '#core/json-object.ts';

/** All efforts, ascending. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Those that a body of Messages may ask for. */
export const ASKED_EFFORTS: ReadonlySet<unknown> = new Set(['low', 'medium', 'high', 'xhigh', 'max']);

type Effort = (typeof EFFORTS)[number];

/** Efforts that stand for a budget, as the tokens from which they do. */
const FROM_BUDGET: readonly (readonly [tokens: number, Effort])[] = [
  [16_384, 'high'],
  [4_096, 'medium'],
  [0, 'low'],
];

/**
 * The reasoning effort of chat that comes nearest to what a body asks for, among those of its
 * model. Clients ask every model for an effort and for thinking, so neither is ever refused.
 * `undefined`: the model's default.
 */
export function effortOf({ thinking, output_config: output }: JsonObject, accepted: readonly string[]) {
  const wanted = wantedEffort(isObject(thinking) ? thinking : {}, isObject(output) ? output.effort : undefined);
  if (wanted === undefined) return undefined;
  const known = EFFORTS.filter((effort) => accepted.includes(effort));
  const notAbove = known.filter((effort) => effort !== 'none' && EFFORTS.indexOf(effort) <= EFFORTS.indexOf(wanted));
  return wanted === 'none' ? known[0] : (notAbove.at(-1) ?? known.find((effort) => effort !== 'none'));
}

function wantedEffort({ type, budget_tokens: budget }: JsonObject, effort: unknown): Effort | undefined {
  if (type === 'disabled') return 'none';
  const named = EFFORTS.find((one) => one === effort);
  if (named !== undefined || type !== 'enabled') return named;
  return FROM_BUDGET.find(([tokens]) => Number(budget) >= tokens)?.[1];
}
