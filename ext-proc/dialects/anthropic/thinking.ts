import type { JsonObject } from '#core/json-object.ts';
import type { SentFields } from '../dialect.ts';
import type { Turn } from './conversation.ts';
import { isThinking } from './thinking-details.ts';

/** Anthropic refuses a smaller `budget_tokens`. */
const LEAST_BUDGET_TOKENS = 1024;

/** How much the model thinks, as members of a request's body. */
export interface ThinkingSettings {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

/**
 * `summarized` is set because newer models show none of their thinking by default. A request
 * without an effort leaves the model its default.
 */
export function thinkingSettings(
  { reasoning_effort: effort }: JsonObject,
  { reasoningBudgets, outputLimit }: SentFields,
  turns: readonly Turn[],
  isForced: boolean,
): ThinkingSettings {
  if (typeof effort !== 'string') return {};
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  if (reasoningBudgets === undefined) {
    // Anthropic has no smaller effort than low.
    const sent = effort === 'minimal' ? 'low' : effort;
    return { thinking: { type: 'adaptive', display: 'summarized' }, effort: sent };
  }
  const budget = Math.min(reasoningBudgets.get(effort) ?? 0, outputLimit - 1);
  if (budget < LEAST_BUDGET_TOKENS || isForced || isWithoutThinking(turns)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/**
 * True if the model called a tool without thinking, or the client did not send its thinking back.
 * With a thinking budget Anthropic refuses that, and a forced tool. Adaptive thinking allows both.
 */
function isWithoutThinking(turns: readonly Turn[]): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant')?.content ?? [];
  return last.some(({ type }) => type === 'tool_use') && !isThinking(last[0]);
}
