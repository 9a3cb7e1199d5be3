import { isObject, type JsonObject } from '#core/json-object.ts';

/** All efforts, ascending. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Efforts that a body of Messages may request. */
export const ASKED_EFFORTS: ReadonlySet<unknown> = new Set(['low', 'medium', 'high', 'xhigh', 'max']);

type Effort = (typeof EFFORTS)[number];

/** The effort for a thinking budget of at least so many tokens. */
const FROM_BUDGET: readonly (readonly [tokens: number, Effort])[] = [
  [16_384, 'high'],
  [4_096, 'medium'],
  [0, 'low'],
];

/**
 * The model's effort for the one that a body requests: the highest that is not above it, or else
 * the lowest. Clients request an effort and thinking of every model, so neither is ever refused.
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
